#include "litmus/generate.h"

#include <string>
#include <unordered_set>
#include <utility>

namespace fb::litmus {
namespace {

using Ops = std::vector<Op>;

// Locations: what is communicated, and the flags that say so.
constexpr int16_t x = 0, y = 1, z = 2;

// How an access is done.
struct Way {
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::none;
};

constexpr Way kWeak{};
constexpr Way kVolatile{MemoryOrder::volatile_, Scope::none};
constexpr Way kRelaxedSys{MemoryOrder::relaxed, Scope::sys};
constexpr Scope kScopes[] = {Scope::cta, Scope::gpu, Scope::sys};
constexpr MemoryOrder kFences[] = {MemoryOrder::acq_rel, MemoryOrder::sc};

Op load(Way way, int16_t location, int16_t reg) {
  return {.kind = OpKind::load, .order = way.order, .scope = way.scope, .location = location, .reg = reg};
}
Op store(Way way, int16_t location, uint32_t value) {
  return {.kind = OpKind::store, .order = way.order, .scope = way.scope, .location = location, .value = value};
}
Op store_register(Way way, int16_t location, int16_t reg) {
  return {.kind = OpKind::store, .order = way.order, .scope = way.scope, .location = location, .reg = reg};
}
Op exchange(Way way, int16_t location, uint32_t value, int16_t reg) {
  return {.kind = OpKind::exchange,
          .order = way.order,
          .scope = way.scope,
          .location = location,
          .reg = reg,
          .value = value};
}
Op add(Way way, int16_t location, uint32_t value, int16_t reg) {
  return {
      .kind = OpKind::add, .order = way.order, .scope = way.scope, .location = location, .reg = reg, .value = value};
}
Op reduce(Way way, int16_t location, uint32_t value) {
  return {.kind = OpKind::reduce, .order = way.order, .scope = way.scope, .location = location, .value = value};
}
Op fence(MemoryOrder order, Scope scope) { return {.kind = OpKind::fence, .order = order, .scope = scope}; }
Op guard(int16_t reg, uint32_t value) { return {.kind = OpKind::guard, .reg = reg, .value = value}; }
Op just(OpKind kind) { return {.kind = kind}; }
Op copy(OpKind kind, int16_t to, int16_t from) { return {.kind = kind, .location = to, .source = from}; }

Ops operator+(Ops a, const Ops& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The accesses of a location with 8 bytes.
Ops widened(Ops ops, int16_t location) {
  for (Op& op : ops) op.wide = op.location == location;
  return ops;
}

// --- Placements

using Places = std::vector<Place>;

// Device and block of each thread, "00 00 10"; threads of one block get a warp each.
Places places(std::string_view text) {
  Places result;
  for (size_t k = 0; k + 1 < text.size(); k += 3) {
    Place p{.device = static_cast<uint8_t>(text[k] - '0'), .block = static_cast<uint8_t>(text[k + 1] - '0')};
    for (const Place& other : result) p.warp = static_cast<uint8_t>(p.warp + other.same_block(p));
    result.push_back(p);
  }
  return result;
}

const std::vector<Places>& pairs() {
  static const std::vector<Places> all{places("00 00"), places("00 01"), places("00 10")};
  return all;
}
// Two lanes of one warp.
Places lanes() { return {{}, {.lane = 1}}; }

const std::vector<Places>& triples() {
  static const std::vector<Places> all{places("00 00 00"), places("00 00 01"), places("00 01 01"), places("00 01 02"),
                                       places("00 00 10"), places("00 10 10"), places("00 01 10"), places("00 10 01")};
  return all;
}

const std::vector<Places>& quadruples() {
  static const std::vector<Places> all{places("00 00 00 00"), places("00 01 02 03"), places("00 01 00 01"),
                                       places("00 10 00 10"), places("00 10 01 11"), places("00 00 10 10")};
  return all;
}

// --- Ways to do things

// Publishing `value` at a flag: every order, scope, fence and kind of write.
std::vector<Ops> publications(int16_t flag, uint32_t value) {
  std::vector<Ops> all{{store(kWeak, flag, value)}, {store(kVolatile, flag, value)}};
  for (const Scope s : kScopes) {
    for (const MemoryOrder o : {MemoryOrder::relaxed, MemoryOrder::release}) {
      all.push_back({store({o, s}, flag, value)});
      all.push_back({reduce({o, s}, flag, value)});
      all.push_back({exchange({o, s}, flag, value, 0)});
    }
    all.push_back({exchange({MemoryOrder::acq_rel, s}, flag, value, 0)});
  }
  for (const MemoryOrder o : kFences) {
    for (const Scope s : kScopes) {
      const Op f = fence(o, s);
      all.push_back({f, store(kWeak, flag, value)});
      all.push_back({f, store(kVolatile, flag, value)});
      for (const Scope t : kScopes) {
        all.push_back({f, store({MemoryOrder::relaxed, t}, flag, value)});
        if (o == MemoryOrder::acq_rel) all.push_back({f, reduce({MemoryOrder::relaxed, t}, flag, value)});
      }
    }
  }
  return all;
}

// Looking at a flag.
std::vector<Ops> looks(int16_t flag, int16_t reg) {
  std::vector<Ops> all{{load(kWeak, flag, reg)}, {load(kVolatile, flag, reg)}};
  for (const Scope s : kScopes) {
    for (const MemoryOrder o : {MemoryOrder::relaxed, MemoryOrder::acquire}) {
      all.push_back({load({o, s}, flag, reg)});
      all.push_back({add({o, s}, flag, 0, reg)});
    }
    all.push_back({add({MemoryOrder::acq_rel, s}, flag, 0, reg)});
  }
  for (const MemoryOrder o : kFences) {
    for (const Scope s : kScopes) {
      const Op f = fence(o, s);
      all.push_back({load(kWeak, flag, reg), f});
      all.push_back({load(kVolatile, flag, reg), f});
      for (const Scope t : kScopes) {
        all.push_back({load({MemoryOrder::relaxed, t}, flag, reg), f});
        if (o == MemoryOrder::acq_rel) all.push_back({add({MemoryOrder::relaxed, t}, flag, 0, reg), f});
      }
    }
  }
  return all;
}

// The usual ones only.
std::vector<Ops> usual_publications(int16_t flag, uint32_t value) {
  std::vector<Ops> all{{store(kWeak, flag, value)}, {store(kRelaxedSys, flag, value)}};
  for (const Scope s : kScopes) {
    all.push_back({store({MemoryOrder::release, s}, flag, value)});
    all.push_back({fence(MemoryOrder::acq_rel, s), store({MemoryOrder::relaxed, s}, flag, value)});
  }
  all.push_back({fence(MemoryOrder::sc, Scope::sys), store(kVolatile, flag, value)});
  return all;
}

std::vector<Ops> usual_looks(int16_t flag, int16_t reg) {
  std::vector<Ops> all{{load(kWeak, flag, reg)}, {load(kRelaxedSys, flag, reg)}};
  for (const Scope s : kScopes) {
    all.push_back({load({MemoryOrder::acquire, s}, flag, reg)});
    all.push_back({load({MemoryOrder::relaxed, s}, flag, reg), fence(MemoryOrder::acq_rel, s)});
  }
  all.push_back({load(kVolatile, flag, reg), fence(MemoryOrder::sc, Scope::sys)});
  return all;
}

// What may stand between two accesses of a thread; none, and every fence.
std::vector<Ops> between() {
  std::vector<Ops> all{{}};
  for (const MemoryOrder o : kFences) {
    for (const Scope s : kScopes) all.push_back({fence(o, s)});
  }
  return all;
}

// --- The shapes

class Family {
 public:
  std::vector<Program> take() { return std::move(programs_); }

  void message_passing() {
    // Data, then a flag: a thread that reads the flag reads the data.
    for (const Ops& p : publications(y, 1)) {
      for (const Ops& l : looks(y, 0)) {
        for (const Places& at : pairs()) {
          put("MP", at, {Ops{store(kWeak, x, 1)} + p, l + Ops{guard(0, 1), load(kWeak, x, 1)}});
        }
      }
    }
    // In one warp, and with data that is strong itself, so that nothing is a race and all outcomes can be told.
    for (const Ops& p : usual_publications(y, 1)) {
      for (const Ops& l : usual_looks(y, 0)) {
        put("MP+lanes", lanes(), {Ops{store(kWeak, x, 1)} + p, l + Ops{guard(0, 1), load(kWeak, x, 1)}});
        for (const Places& at : pairs()) {
          for (const Way way : {kRelaxedSys, kVolatile}) {
            put("MP+strong", at, {Ops{store(way, x, 1)} + p, l + Ops{load(way, x, 1)}});
          }
          // The reader hands the buffer back: its reads come before the next writes.
          put("MP+reuse", at, {Ops{load(kWeak, x, 0)} + p, l + Ops{guard(0, 1), store(kWeak, x, 2)}});
        }
      }
    }
  }

  void in_shared_memory() {
    const std::vector<Location> locations{{'x', Memory::shared}, {'y', Memory::shared}};
    for (const Places& at : {places("00 00"), lanes()}) {
      for (const Ops& p : usual_publications(y, 1)) {
        for (const Ops& l : usual_looks(y, 0)) {
          put("MP+shared", at, {Ops{store(kWeak, x, 1)} + p, l + Ops{guard(0, 1), load(kWeak, x, 1)}}, locations);
        }
      }
    }
  }

  // Two halves of a word that is stored or loaded as a whole elsewhere.
  void mixed_sizes() {
    for (const Places& at : pairs()) {
      for (const Ops& p : usual_publications(y, 1)) {
        for (const Ops& l : usual_looks(y, 0)) {
          const Ops data{store(kWeak, x, 1)}, seen{guard(0, 1), load(kWeak, x, 1)};
          put("MP+wideflag.st", at, {data + widened(p, y), l + seen});
          put("MP+wideflag.ld", at, {data + p, widened(l, y) + seen});
          put("MP+wide", at, {data + widened(p, y), widened(l, y) + seen});
          put("MP+widedata", at, {widened(data, x) + p, l + seen});
        }
      }
    }
  }

  void store_buffering() {
    two_by_two("SB", [](Way w, const Ops& f, int16_t mine, int16_t other) {
      return Ops{store(released(w), mine, 1)} + f + Ops{load(acquired(w), other, 0)};
    });
  }

  void load_buffering() {
    two_by_two("LB", [](Way w, const Ops& f, int16_t mine, int16_t other) {
      return Ops{load(acquired(w), other, 0)} + f + Ops{store(released(w), mine, 1)};
    });
  }

  void coherence() {
    std::vector<Way> ways{kWeak, kVolatile};
    for (const Scope s : kScopes) ways.push_back({MemoryOrder::relaxed, s});
    ways.push_back({MemoryOrder::acq_rel, Scope::gpu});  // acquire or release
    for (const Places& at : pairs()) {
      for (const Way a : ways) {
        for (const Way b : ways) {
          for (const Way c : ways) {
            put("CoRR", at, {{store(released(a), x, 1)}, {load(acquired(b), x, 0), load(acquired(c), x, 1)}});
            put("CoWW", at, {{store(released(a), x, 1), store(released(b), x, 2)}, {store(released(c), x, 3)}});
            put("CoRW", at, {{load(acquired(a), x, 0), store(released(b), x, 1)}, {store(released(c), x, 2)}});
            put("CoWR", at, {{store(released(a), x, 1), load(acquired(b), x, 0)}, {store(released(c), x, 2)}});
          }
        }
      }
      // Counting: atomic with each other where their scopes reach.
      for (const Scope s : kScopes) {
        for (const Scope t : kScopes) {
          const Way a{MemoryOrder::relaxed, s}, b{MemoryOrder::relaxed, t};
          put("Add2", at, {{add(a, x, 1, 0)}, {add(b, x, 1, 0)}});
          put("Red2", at, {{reduce(a, x, 1)}, {reduce(b, x, 1)}});
          put("AddSt", at, {{add(a, x, 1, 0)}, {store(b, x, 5)}});
          put("AddLd", at, {{add(a, x, 1, 0)}, {load(b, x, 0), load(b, x, 1)}});
        }
        put("AddWeak", at, {{add({MemoryOrder::relaxed, s}, x, 1, 0)}, {store(kWeak, x, 5)}});
        put("AddVolatile", at, {{add({MemoryOrder::relaxed, s}, x, 1, 0)}, {load(kVolatile, x, 0)}});
      }
    }
  }

  // What one thread saw, another that hears of it must see too.
  void write_to_read_causality() {
    for (const Places& at : triples()) {
      for (const Scope s : kScopes) {
        for (const Ops& p : usual_publications(y, 1)) {
          for (const Ops& l : usual_looks(y, 0)) {
            const Way way{MemoryOrder::relaxed, s};
            put("WRC", at,
                {{store(way, x, 1)}, Ops{load(way, x, 0), guard(0, 1)} + p, l + Ops{guard(0, 1), load(way, x, 1)}});
          }
        }
      }
    }
  }

  // Data, a flag, and a flag about the flag.
  void release_chains() {
    for (const Places& at : triples()) {
      for (const Scope s : kScopes) {
        for (const Scope t : kScopes) {
          for (const bool fences : {false, true}) {
            const auto publish = [&](Scope scope, int16_t flag) {
              return fences ? Ops{fence(MemoryOrder::acq_rel, scope), store({MemoryOrder::relaxed, scope}, flag, 1)}
                            : Ops{store({MemoryOrder::release, scope}, flag, 1)};
            };
            const auto look = [&](Scope scope, int16_t flag) {
              return (fences ? Ops{load({MemoryOrder::relaxed, scope}, flag, 0), fence(MemoryOrder::acq_rel, scope)}
                             : Ops{load({MemoryOrder::acquire, scope}, flag, 0)}) +
                     Ops{guard(0, 1)};
            };
            put("ISA2", at,
                {Ops{store(kWeak, x, 1)} + publish(s, y), look(s, y) + publish(t, z),
                 look(t, z) + Ops{load(kWeak, x, 1)}});
          }
          // One half of the second link is missing.
          put("ISA2+norelease", at,
              {{store(kWeak, x, 1), store({MemoryOrder::release, s}, y, 1)},
               {load({MemoryOrder::acquire, s}, y, 0), guard(0, 1), store({MemoryOrder::relaxed, t}, z, 1)},
               {load({MemoryOrder::acquire, t}, z, 0), guard(0, 1), load(kWeak, x, 1)}});
          put("ISA2+noacquire", at,
              {{store(kWeak, x, 1), store({MemoryOrder::release, s}, y, 1)},
               {load({MemoryOrder::relaxed, s}, y, 0), guard(0, 1), store({MemoryOrder::release, t}, z, 1)},
               {load({MemoryOrder::acquire, t}, z, 0), guard(0, 1), load(kWeak, x, 1)}});
        }
      }
      // A release sequence is continued by atomics of any thread, and by no other writes.
      for (const Scope s : kScopes) {
        for (const Scope t : kScopes) {
          const Ops first{store(kWeak, x, 1), store({MemoryOrder::release, s}, y, 1)};
          const Ops last{load({MemoryOrder::acquire, s}, y, 0), guard(0, 2), load(kWeak, x, 1)};
          put("RelSeq+atom", at, {first, {add({MemoryOrder::relaxed, t}, y, 1, 0)}, last});
          put("RelSeq+red", at, {first, {reduce({MemoryOrder::relaxed, t}, y, 1)}, last});
          put("RelSeq+st", at,
              {first,
               {load({MemoryOrder::relaxed, t}, y, 0), guard(0, 1), store({MemoryOrder::relaxed, t}, y, 2)},
               last});
          put("RelSeq+fence", at,
              {{store(kWeak, x, 1), fence(MemoryOrder::acq_rel, s), store(kRelaxedSys, y, 1)},
               {add({MemoryOrder::relaxed, t}, y, 1, 0)},
               {load(kRelaxedSys, y, 0), fence(MemoryOrder::acq_rel, s), guard(0, 2), load(kWeak, x, 1)}});
        }
      }
    }
    for (const Places& at : pairs()) {
      for (const Scope s : kScopes) {
        for (const Scope t : kScopes) {
          const Way release{MemoryOrder::release, s}, relaxed{MemoryOrder::relaxed, t},
              acquire{MemoryOrder::acquire, s};
          // The pattern of a release and a later strong write of the same flag, and its mirror.
          const Ops seen{guard(0, 2), load(kWeak, x, 1)};
          put("Later+st", at,
              {{store(kWeak, x, 1), store(release, y, 1), store(relaxed, y, 2)}, Ops{load(acquire, y, 0)} + seen});
          put("Later+weak", at,
              {{store(kWeak, x, 1), store(release, y, 1), store(kWeak, y, 2)}, Ops{load(acquire, y, 0)} + seen});
          put("Later+after", at,
              {{store(release, y, 1), store(kWeak, x, 1), store(relaxed, y, 2)}, Ops{load(acquire, y, 0)} + seen});
          put("Later+red", at,
              {{store(kWeak, x, 1), store(release, y, 1), reduce(relaxed, y, 1)}, Ops{load(acquire, y, 0)} + seen});
          put("Later+ld", at,
              {{store(kWeak, x, 1), store(release, y, 1)},
               {load(relaxed, y, 0), load(acquire, y, 1), guard(0, 1), load(kWeak, x, 2)}});
          put("Later+otherld", at,
              {{store(kWeak, x, 1), store(release, y, 1)},
               {load(relaxed, y, 0), load(acquire, z, 1), guard(0, 1), load(kWeak, x, 2)}});
          put("Later+redfence", at,
              {{store(kWeak, x, 1), store(release, y, 1)},
               {reduce(relaxed, y, 1), fence(MemoryOrder::acq_rel, s), load(kRelaxedSys, y, 0), guard(0, 2),
                load(kWeak, x, 1)}});
          // A strong read alone orders the write that it saw, at its own location.
          put("Seen+st", at,
              {{store(relaxed, y, 1)}, {load({MemoryOrder::relaxed, s}, y, 0), guard(0, 1), store(kWeak, y, 2)}});
          put("Seen+ld", at,
              {{store(relaxed, y, 1)}, {load({MemoryOrder::relaxed, s}, y, 0), guard(0, 1), load(kWeak, y, 1)}});
          put("Seen+before", at,
              {{load(kWeak, y, 0), store(relaxed, y, 1)},
               {load({MemoryOrder::relaxed, s}, y, 0), guard(0, 1), store(kWeak, y, 2)}});
        }
      }
    }
  }

  void independent_reads() {
    for (const Places& at : quadruples()) {
      for (const Ops& f : between()) {
        for (const Ops& g : between()) {
          // Symmetric ones once.
          if (text(f) > text(g)) continue;
          for (const Way way : {kRelaxedSys, Way{MemoryOrder::relaxed, Scope::gpu}, kVolatile}) {
            put("IRIW", at,
                {{store(way, x, 1)},
                 {store(way, y, 1)},
                 Ops{load(way, x, 0)} + f + Ops{load(way, y, 1)},
                 Ops{load(way, y, 0)} + g + Ops{load(way, x, 1)}});
          }
        }
      }
      for (const Scope s : kScopes) {
        const Way release{MemoryOrder::release, s}, acquire{MemoryOrder::acquire, s};
        put("IRIW+acquire", at,
            {{store(release, x, 1)},
             {store(release, y, 1)},
             {load(acquire, x, 0), load(acquire, y, 1)},
             {load(acquire, y, 0), load(acquire, x, 1)}});
      }
    }
  }

  void barriers() {
    const Op bar = just(OpKind::barrier);
    put("MP+bar", places("00 00"), {{store(kWeak, x, 1), bar}, {bar, load(kWeak, x, 0)}});
    put("MP+bar+bar", places("00 00"),
        {{store(kWeak, x, 1), bar, bar, store(kWeak, x, 2)}, {bar, load(kWeak, x, 0), bar}});
    put("MP+bar+early", places("00 00"), {{store(kWeak, x, 1), bar, store(kWeak, x, 2)}, {bar, load(kWeak, x, 0)}});
    put("MP+bar+late", places("00 00"), {{bar, store(kWeak, x, 1)}, {bar, load(kWeak, x, 0)}});
    put("MP+bar+wrong", places("00 01"), {{store(kWeak, x, 1), bar}, {bar, load(kWeak, x, 0)}});
    put("MP+bar+wrong", places("00 10"), {{store(kWeak, x, 1), bar}, {bar, load(kWeak, x, 0)}});
    put("SB+bar", places("00 00"),
        {{store(kWeak, x, 1), bar, load(kWeak, y, 0)}, {store(kWeak, y, 1), bar, load(kWeak, x, 0)}});
    // What one thread of a block has heard from outside, the barrier tells the others.
    for (const char* where : {"00 00 00", "00 01 01", "00 10 10"}) {
      for (const Ops& p : usual_publications(y, 1)) {
        for (const Ops& l : usual_looks(y, 0)) {
          put("MP+through-bar", places(where),
              {Ops{store(kWeak, x, 1)} + p,
               l + Ops{store_register(kWeak, z, 0), bar},
               {bar, load(kWeak, z, 0), guard(0, 1), load(kWeak, x, 1)}});
          put("MP+from-bar",
              places(where[3] == '0' && where[4] == '0' ? "00 00 00"
                     : where[3] == '0'                  ? "00 00 01"
                                                        : "00 00 10"),
              {{store(kWeak, x, 1), bar}, Ops{bar} + p, l + Ops{guard(0, 1), load(kWeak, x, 1)}});
        }
      }
    }
  }

  // Copies by the asynchronous proxy in the place of the data's stores and loads.
  void bulk_copies() {
    constexpr int16_t staged = z;
    const std::vector<Location> locations{{'x'}, {'y'}, {'s', Memory::shared}};
    const Op proxy = just(OpKind::fence_async);
    for (const Places& at : pairs()) {
      for (const Ops& p : usual_publications(y, 1)) {
        for (const Ops& l : usual_looks(y, 0)) {
          const Ops read = l + Ops{guard(0, 1), load(kWeak, x, 1)};
          for (const bool fenced : {false, true}) {
            const Ops issue =
                Ops{store(kWeak, staged, 1)} + (fenced ? Ops{proxy} : Ops{}) + Ops{copy(OpKind::bulk_store, x, staged)};
            put("MP+bulkst", at, {issue + Ops{just(OpKind::wait_bulk)} + p, read}, locations);
            put("MP+bulkst+readwait", at, {issue + Ops{just(OpKind::wait_bulk_read)} + p, read}, locations);
            put("MP+bulkst+nowait", at, {issue + p, read}, locations);
            const Ops fetch =
                Ops{guard(0, 1)} + (fenced ? Ops{proxy} : Ops{}) + Ops{copy(OpKind::bulk_load, staged, x)};
            put("MP+bulkld", at,
                {Ops{store(kWeak, x, 1)} + p, l + fetch + Ops{just(OpKind::wait_load), load(kWeak, staged, 1)}},
                locations);
            put("MP+bulkld+nowait", at, {Ops{store(kWeak, x, 1)} + p, l + fetch + Ops{load(kWeak, staged, 1)}},
                locations);
          }
          // The fence on the writer's side.
          put("MP+bulkld+early", at,
              {Ops{store(kWeak, x, 1), proxy} + p, l + Ops{guard(0, 1), copy(OpKind::bulk_load, staged, x),
                                                           just(OpKind::wait_load), load(kWeak, staged, 1)}},
              locations);
        }
      }
    }
    // A buffer in shared memory that is filled again.
    for (const Ops& fenced : {Ops{}, Ops{proxy}}) {
      put("Reuse+bulkld", {Place{}},
          {Ops{load(kWeak, staged, 0)} + fenced +
           Ops{copy(OpKind::bulk_load, staged, x), just(OpKind::wait_load), load(kWeak, staged, 1)}},
          locations);
      put("Reuse+bulkld", {Place{}},
          {Ops{store(kWeak, staged, 1)} + fenced +
           Ops{copy(OpKind::bulk_load, staged, x), just(OpKind::wait_load), load(kWeak, staged, 1)}},
          locations);
    }
    // A buffer in shared memory that is used again: after its source was read, or too early.
    for (const OpKind wait : {OpKind::wait_bulk, OpKind::wait_bulk_read, OpKind::fence_async}) {
      put("Reuse+bulkst", {Place{}},
          {{store(kWeak, staged, 1), proxy, copy(OpKind::bulk_store, x, staged), just(wait), store(kWeak, staged, 2)}},
          locations);
    }
  }

  // Stores and reductions through a multicast address; the reader is on device 1, where it sees the device's own copy.
  void multimem() {
    const std::vector<Location> locations{{'x', Memory::multicast}, {'y'}, {'z'}};
    for (const char* where : {"10 10", "10 11", "00 10"}) {
      for (const Ops& p : usual_publications(y, 1)) {
        for (const Ops& l : usual_looks(y, 0)) {
          for (const bool fenced : {false, true}) {
            const Ops alias = fenced ? Ops{just(OpKind::fence_alias)} : Ops{};
            const Ops read = l + Ops{guard(0, 1)} + alias + Ops{load(kWeak, x, 1)};
            const auto through = [&](OpKind kind, Way way) {
              return Ops{{.kind = kind, .order = way.order, .scope = way.scope, .location = x, .value = 1}};
            };
            put("MP+multimem.st", places(where), {through(OpKind::multimem_store, kWeak) + p, read}, locations);
            put("MP+multimem.red", places(where), {through(OpKind::multimem_reduce, kRelaxedSys) + p, read}, locations);
          }
        }
      }
    }
  }

 private:
  static Way released(Way w) { return w.order == MemoryOrder::acq_rel ? Way{MemoryOrder::release, w.scope} : w; }
  static Way acquired(Way w) { return w.order == MemoryOrder::acq_rel ? Way{MemoryOrder::acquire, w.scope} : w; }

  static std::string text(const Ops& ops) {
    std::string result;
    const Program nothing;
    for (const Op& op : ops) result += text_of(nothing, op) + ";";
    return result;
  }

  // Two threads, two locations, mirrored; every fence on either side.
  template <class Make>
  void two_by_two(const std::string& name, Make make) {
    std::vector<Way> ways{kWeak, kVolatile};
    for (const Scope s : kScopes) {
      ways.push_back({MemoryOrder::relaxed, s});
      ways.push_back({MemoryOrder::acq_rel, s});
    }
    const std::vector<Ops> fences = between();
    for (const Way w : ways) {
      for (size_t f = 0; f < fences.size(); ++f) {
        for (size_t g = f; g < fences.size(); ++g) {
          for (const Places& at : pairs()) put(name, at, {make(w, fences[f], x, y), make(w, fences[g], y, x)});
        }
      }
    }
  }

  void put(const std::string& family, const Places& at, std::vector<Ops> threads,
           std::vector<Location> locations = {{'x'}, {'y'}, {'z'}}) {
    Program p{.family = family, .locations = std::move(locations), .threads = {}};
    for (size_t t = 0; t < threads.size(); ++t) p.threads.push_back({at[t], std::move(threads[t])});
    Program unnamed = p;
    unnamed.family.clear();
    if (seen_.insert(text_of(unnamed)).second) programs_.push_back(std::move(p));
  }

  std::vector<Program> programs_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::vector<Program> generate() {
  Family family;
  family.message_passing();
  family.in_shared_memory();
  family.mixed_sizes();
  family.store_buffering();
  family.load_buffering();
  family.coherence();
  family.write_to_read_causality();
  family.release_chains();
  family.independent_reads();
  family.barriers();
  family.bulk_copies();
  family.multimem();
  return family.take();
}

}  // namespace fb::litmus
