#include "campaign/llm/transport.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using End = HttpAnswer::End;

constexpr std::string_view kAllowHttp = "#allow_http";

struct EasyEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct MultiEnd {
  void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyEnd>;
using Multi = std::unique_ptr<CURLM, MultiEnd>;
using List = std::unique_ptr<curl_slist, ListEnd>;

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] { FB_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
}

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_loopback(std::string_view host) {
  const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "[::1]" || (is_number && host.starts_with("127."));
}

struct UrlParts {
  std::string scheme, host;
  bool good = false;
};

UrlParts parts_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parser(curl_url(), &curl_url_cleanup);
  UrlParts parts;
  if (!parser || curl_url_set(parser.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return parts;
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(parser.get(), which, &text, 0) != CURLUE_OK) return std::string();
    const std::unique_ptr<char, decltype(&curl_free)> owner(text, &curl_free);
    return std::string(text);
  };
  parts.scheme = small(part(CURLUPART_SCHEME));
  parts.host = small(part(CURLUPART_HOST));
  parts.good = true;
  return parts;
}

// Shared by the callbacks of one transfer.
struct Transfer {
  const HttpRequest& request;
  CURL* handle;
  HttpAnswer answer = {};
  Clock::time_point last_byte = Clock::now();
  bool enough = false, too_big = false;
  std::string failure = {};  // of a callback: exceptions must not cross libcurl
};

size_t on_header(char* bytes, size_t size, size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::string_view line = trim(std::string_view(bytes, size * count));
  transfer.last_byte = Clock::now();
  if (line.starts_with("HTTP/")) {
    transfer.answer.headers.clear();  // of an interim answer
    long status = 0;
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    transfer.answer.status = static_cast<int>(status);
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    transfer.answer.headers[small(line.substr(0, colon))] = trim(line.substr(colon + 1));
  }
  return size * count;
}

size_t on_body(char* bytes, size_t size, size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::string_view piece(bytes, size * count);
  transfer.last_byte = Clock::now();
  transfer.too_big = transfer.answer.body.size() + piece.size() > transfer.request.most_bytes;
  if (transfer.too_big) return 0;
  transfer.answer.body += piece;
  try {
    if (transfer.request.on_bytes && transfer.answer.status == 200)
      transfer.enough = !transfer.request.on_bytes(transfer.answer, piece);
  } catch (const std::exception& e) {
    transfer.failure = e.what();
    return 0;
  }
  return transfer.enough ? 0 : piece.size();
}

// Programs that are started meanwhile must not inherit a connection.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

template <class T>
void set(CURL* handle, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  if (code != CURLE_OK) throw std::runtime_error(fmt::format("libcurl: {}", curl_easy_strerror(code)));
}

void prepare(CURL* handle, const HttpRequest& request, const std::string& url, const curl_slist* headers,
             Transfer& transfer) {
  set(handle, CURLOPT_URL, url.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);  // a key is for one address
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  set(handle, CURLOPT_HTTPHEADER, headers);
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  set(handle, CURLOPT_HEADERFUNCTION, &on_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  set(handle, CURLOPT_WRITEFUNCTION, &on_body);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_TCP_KEEPALIVE, 1L);  // firewalls drop idle connections during long reasoning
  // No proxy for plain http: it would see the key.
  if (parts_of(url).scheme == "http") set(handle, CURLOPT_PROXY, "");
}

End end_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return End::whole;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return End::not_sent;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return End::hopeless;
    default:
      return End::broken;
  }
}

void note_end(CURLcode code, Transfer& transfer) {
  HttpAnswer& answer = transfer.answer;
  if (transfer.enough) {
    answer.end = End::whole;
  } else if (transfer.too_big) {
    answer.end = End::too_big;
    answer.problem = fmt::format("the answer has more than {} bytes", transfer.request.most_bytes);
  } else if (!transfer.failure.empty()) {
    answer.end = End::broken;
    answer.problem = transfer.failure;
  } else {
    answer.end = end_of(code);
    if (code != CURLE_OK) answer.problem = curl_easy_strerror(code);
    // Connection timeout: nothing was sent.
    double connected = 0;
    curl_easy_getinfo(transfer.handle, CURLINFO_PRETRANSFER_TIME, &connected);
    if (code == CURLE_OPERATION_TIMEDOUT && connected == 0) answer.end = End::not_sent;
  }
}

// Drives the transfer until it ends or a limit is reached.
void run(CURLM* multi, Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  const auto start = Clock::now();
  const auto give_up = [&](End end, std::string problem) {
    transfer.answer.end = end;
    transfer.answer.problem = std::move(problem);
  };
  while (true) {
    int running = 0;
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) return note_end(message->data.result, transfer);
    }
    const auto now = Clock::now();
    if (request.cancelled && request.cancelled()) return give_up(End::cancelled, "cancelled");
    if (now - start >= request.total_timeout)
      return give_up(End::too_long,
                     fmt::format("no end after {:.3g} s", std::chrono::duration<double>(now - start).count()));
    if (now - transfer.last_byte >= request.stall_timeout)
      return give_up(End::stalled, fmt::format("no data for {:.3g} s",
                                               std::chrono::duration<double>(now - transfer.last_byte).count()));
    const auto until =
        std::min(request.total_timeout - (now - start), request.stall_timeout - (now - transfer.last_byte));
    const auto wait = std::clamp(std::chrono::ceil<milliseconds>(until), milliseconds(1), milliseconds(200));
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpAnswer post(const HttpRequest& request) {
  start_library();
  const Easy handle(curl_easy_init());
  const Multi multi(curl_multi_init());
  FB_CHECK(handle && multi);
  curl_slist* list = nullptr;
  for (const std::string& header : request.headers) {
    curl_slist* longer = curl_slist_append(list, header.c_str());
    FB_CHECK(longer != nullptr);
    list = longer;
  }
  const List headers(list);
  Transfer transfer{.request = request, .handle = handle.get()};
  const std::string url = plain_url(request.url);
  prepare(handle.get(), request, url, headers.get(), transfer);
  FB_CHECK(curl_multi_add_handle(multi.get(), handle.get()) == CURLM_OK);
  run(multi.get(), transfer);
  curl_multi_remove_handle(multi.get(), handle.get());
  return std::move(transfer.answer);
}

std::string plain_url(const std::string& url) { return url.substr(0, url.find('#')); }

Result<void> check_url(const std::string& url) {
  const std::string plain = plain_url(url);
  // Checked before any message quotes the address.
  if (plain.contains('@') || plain.contains('?'))
    return error("an address must not have a user, a password or a '?': keys come from the environment");
  const UrlParts parts = parts_of(plain);
  if (!parts.good || parts.host.empty() || (parts.scheme != "http" && parts.scheme != "https"))
    return error(fmt::format("'{}' is not an address of a server: it must begin with https:// or http://", plain));
  if (parts.scheme == "http" && !is_loopback(parts.host) && !url.ends_with(kAllowHttp))
    return error(fmt::format("{} is not encrypted and not on this computer: use https, or set allow_http=1", plain));
  return {};
}

}  // namespace fb::llm
