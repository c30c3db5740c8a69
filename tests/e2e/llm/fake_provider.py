#!/usr/bin/env python3
"""A server on loopback that speaks like the providers of models, and checks strictly what it is asked.

    fake_provider.py [--port 0] [--answers FOLDER] [--problems FOLDER] [--log FILE] [--delay-ms N] [--key KEY]

prints its port and serves until it is ended. http://127.0.0.1:PORT/v1 is an OpenAI-compatible server, as vLLM, llama.cpp and
Ollama are; http://127.0.0.1:PORT/ROW/… speaks as the row ROW of src/campaign/llm/providers.toml does.

Answers. A model called play-SCENARIO plays one of the SCENARIOS below. Any other is answered from FOLDER, or from
FOLDER/MODEL where that exists: the problem is the longest name there that occurs in the first message of the user (its
title instead, where --problems names the pack); the files are <problem>/<round>.md, <problem>/1.<round>.md, <problem>.md
and default.md, the first that exists.

Log. One JSON object a line: row, model, idempotency_key, how often this key was seen (the try), stream, status. Never a key
of a provider."""

import argparse
import email.utils
import http.server
import json
import os
import pathlib
import sys
import threading
import time
import tomllib

ANSWER = "Here is code:\n```cuda\n// [solution]\nint x = 1; // ±\n// [/solution]\n```\n"
REFUSAL = "I can't help with that."
THOUGHTS = "Let me think. // [solution]"
# As every dialect counts them: all input 1000, of which 200 came from a cache; all output 300, of which 50 were thoughts.
# Providers with this figure have also put 100 of the input tokens into a cache.
USAGE = {"input": 1000, "cached": 200, "written": 100, "output": 300, "reasoning": 50}
COST = 0.0123

BEARER = ("authorization", "Bearer ")
OPENAI_FIELDS = {"model", "messages", "stream", "temperature"}


def row(dialect, path, auth, fields=(), limit="max_tokens", **quirks):
    return {"dialect": dialect, "path": path, "auth": auth, "fields": set(fields), "limit": limit, **quirks}


# What each takes, as its documentation has it; anything else is refused.
ROWS = {
    "openai": row("openai", "/v1", BEARER, {"reasoning_effort", "stream_options"}, "max_completion_tokens"),
    "anthropic": row("anthropic", "/v1", ("x-api-key", ""), {"thinking", "output_config"}),
    "google": row("gemini", "/v1beta", ("x-goog-api-key", "")),
    "xai": row("openai", "/v1", BEARER, {"reasoning_effort", "stream_options"}, "max_completion_tokens", reasoning_apart=True),
    "deepseek": row("openai", "", BEARER, {"thinking", "reasoning_effort", "stream_options"}, cached="prompt_cache_hit_tokens"),
    "zhipu": row("openai", "/api/paas/v4", BEARER, {"thinking", "reasoning_effort"}, refused="sensitive"),
    "qwen": row("openai", "/compatible-mode/v1", BEARER, {"enable_thinking", "thinking_budget", "stream_options"}),
    "moonshot": row("openai", "/v1", BEARER, {"thinking", "reasoning_effort"}, "max_completion_tokens", cached="cached_tokens",
                    usage_in_choice=True),
    "together": row("openai", "/v1", BEARER, {"reasoning_effort"}, think_tags=True),
    "openrouter": row("openai", "/api/v1", BEARER, {"reasoning", "usage"}, cost=True, keep_alive=": OPENROUTER PROCESSING\n\n"),
    "mistral": row("openai", "/v1", BEARER, {"reasoning_effort"}, truncated="model_length", parts=True),
    "fireworks": row("openai", "/inference/v1", BEARER, {"reasoning_effort"}, think_tags=True),
    "openai-compatible": row("openai", "/v1", BEARER, {"reasoning_effort", "stream_options"}, key_optional=True),
}

# name: what it does. Those that end with "_then_ok" fail once (overloaded: three times) and then answer.
SCENARIOS = {
    "ok": "a complete answer",
    "whole": "a complete answer in one piece, stream or not",
    "truncated": "the limit of tokens was reached",
    "refused": "a filter or the model said no",
    "empty": "a complete answer without a text",
    "key_in_answer": "the key stands in the answer",
    "seconds_then_ok": "429 with Retry-After: 7",
    "date_then_ok": "429 with a Retry-After that is a date, 9 s after the server's own",
    "overloaded_then_ok": "503, 529, 500, and then an answer",
    "stall_then_ok": "begins, and says nothing more",
    "broken_then_ok": "the connection ends in the middle",
    "no_final_then_ok": "the stream ends in good order, but before its end",
    "error_event_then_ok": "an error in the middle of a stream, or in place of an answer",
    "malformed_then_ok": "no JSON",
    "bad_stop_then_ok": "stopped by an error of the provider's",
    "malformed": "no JSON, always",
    "failing": "500, always",
    "huge": "writes without an end",
    "wrong_key": "401, and the key in its text",
    "forbidden": "403, and half of the key in its text",
    "bad_request": "400",
    "not_found": "404",
    "too_large": "413",
    "unprocessable": "422",
    "no_credit": "429 that no wait will cure",
    "elsewhere": "302",
    "much_later": "429 with Retry-After: 86400",
}

STOPS = {
    "openai": {"complete": "stop", "truncated": "length", "refused": "content_filter", "bad": "error"},
    "anthropic": {"complete": "end_turn", "truncated": "max_tokens", "refused": "refusal", "bad": "error"},
    "gemini": {"complete": "STOP", "truncated": "MAX_TOKENS", "refused": "SAFETY", "bad": "MALFORMED_RESPONSE"},
}


class Wrong(Exception):
    """The request is not what the provider's documentation says."""


def need(condition, what):
    if not condition:
        raise Wrong(what)


def texts_of(parts):
    need(isinstance(parts, list) and parts, "no parts")
    for part in parts:
        need(isinstance(part.get("text"), str) and part["text"].strip(), "a part without a text")
    return "".join(part["text"] for part in parts)


def check_turns(turns, second):
    need(turns and turns[0][0] == "user" and turns[-1][0] == "user", "the first and the last message are the user's")
    need(all(role in ("user", second) for role, _ in turns), f"a role is user or {second}")


class Dialect:
    """Reads requests into (model, stream, turns) and writes answers."""

    def __init__(self, name):
        self.row = ROWS[name]
        self.stops = dict(STOPS[self.row["dialect"]])
        self.stops.update({key: self.row[key] for key in ("truncated", "refused") if key in self.row})


class OpenAi(Dialect):
    def read(self, path, body):
        need(path == self.row["path"] + "/chat/completions", f"unknown path {path}")
        unknown = set(body) - OPENAI_FIELDS - self.row["fields"] - {self.row["limit"]}
        need(not unknown, f"Unrecognized request arguments: {sorted(unknown)}")
        need(isinstance(body.get(self.row["limit"]), int), f"{self.row['limit']} is missing")
        stream = body.get("stream", False)
        need("stream_options" not in body or (stream and body["stream_options"] == {"include_usage": True}), "stream_options")
        need(body.get("usage", {"include": True}) == {"include": True}, "usage")
        messages = body.get("messages")
        need(isinstance(messages, list) and messages, "no messages")
        for message in messages:
            need(set(message) == {"role", "content"} and isinstance(message["content"], str) and message["content"].strip(),
                 "a message is a role and a content")
        turns = [(m["role"], m["content"]) for m in messages if m["role"] != "system"]
        need(all(m["role"] != "system" for m in messages[1:]), "system comes first")
        check_turns(turns, "assistant")
        return body.get("model"), stream, turns

    def usage(self, asked):
        usage = {"prompt_tokens": USAGE["input"], "completion_tokens": USAGE["output"],
                 "total_tokens": USAGE["input"] + USAGE["output"],
                 "completion_tokens_details": {"reasoning_tokens": USAGE["reasoning"]}}
        if self.row.get("reasoning_apart"):
            usage["completion_tokens"] -= USAGE["reasoning"]
        if "cached" in self.row:
            usage[self.row["cached"]] = USAGE["cached"]
        else:
            usage["prompt_tokens_details"] = {"cached_tokens": USAGE["cached"]}
        if self.row.get("cost"):
            usage["cost"] = COST
            usage["prompt_tokens_details"]["cache_write_tokens"] = USAGE["written"]
        return usage if asked else None

    def content(self, text):
        if self.row.get("parts"):
            return [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHTS}]}, {"type": "text", "text": text}]
        return f"<think>{THOUGHTS}</think>\n\n{text}" if self.row.get("think_tags") else text

    def whole(self, model, text, end, refusal=False):
        message = {"role": "assistant", "content": None if refusal else self.content(text), "reasoning_content": THOUGHTS}
        if refusal:
            message["refusal"] = text
        return {"id": "call-1", "object": "chat.completion", "model": model + "-2026",
                "choices": [{"index": 0, "message": message, "finish_reason": self.stops[end]}], "usage": self.usage(True)}

    def events(self, model, text, end, body, refusal=False):
        def chunk(delta, reason=None, **more):
            choice = {"index": 0, "delta": delta, "finish_reason": reason, **more}
            return {"id": "call-1", "object": "chat.completion.chunk", "model": model + "-2026", "choices": [choice]}
        usage = self.usage(True)
        yield chunk({"role": "assistant", "content": ""})
        yield chunk({"reasoning_content": THOUGHTS})
        if self.row.get("think_tags"):
            yield chunk({"content": f"<think>{THOUGHTS}</think>\n\n"})
        if self.row.get("parts"):
            yield chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHTS}]}]})
        for i in range(0, len(text), 7):
            yield chunk({"refusal" if refusal else "content": text[i:i + 7]})
        last = chunk({}, self.stops[end])
        if self.row.get("usage_in_choice"):
            last["choices"][0]["usage"] = usage
            yield last
        elif "stream_options" in self.row["fields"]:
            yield last
            if "stream_options" in body:  # only on request
                yield {"id": "call-1", "object": "chat.completion.chunk", "model": model + "-2026", "choices": [], "usage": usage}
        else:
            yield {**last, "usage": usage}

    final = "data: [DONE]\n\n"

    def error(self, message, kind="server_error", code=None):
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class Anthropic(Dialect):
    def read(self, path, body):
        need(path == "/v1/messages", f"unknown path {path}")
        unknown = set(body) - {"model", "messages", "system", "stream", "temperature", "max_tokens"} - self.row["fields"]
        need(not unknown, f"{sorted(unknown)}: Extra inputs are not permitted")
        need(isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
        marks = json.dumps(body).count('"cache_control": {"type": "ephemeral"}')
        need(1 <= marks <= 4, f"{marks} blocks with cache_control")
        turns = [(m["role"], texts_of(m["content"])) for m in body.get("messages", [])]
        check_turns(turns, "assistant")
        if "system" in body:
            texts_of(body["system"])
        return body.get("model"), body.get("stream", False), turns

    def usage(self):
        return {"input_tokens": USAGE["input"] - USAGE["cached"] - USAGE["written"], "cache_read_input_tokens": USAGE["cached"],
                "cache_creation_input_tokens": USAGE["written"], "output_tokens": USAGE["output"],
                "output_tokens_details": {"thinking_tokens": USAGE["reasoning"]}}

    def whole(self, model, text, end, refusal=False):
        blocks = [{"type": "thinking", "thinking": THOUGHTS, "signature": "x"}, {"type": "text", "text": text}]
        return {"id": "call-1", "type": "message", "role": "assistant", "model": model + "-2026", "content": blocks,
                "stop_reason": self.stops["refused" if refusal else end], "usage": self.usage()}

    def events(self, model, text, end, body, refusal=False):
        start = self.whole(model, text, end)
        start.update(content=[], stop_reason=None, usage={**self.usage(), "output_tokens": 1})
        del start["usage"]["output_tokens_details"]
        yield {"type": "message_start", "message": start}
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
        yield {"type": "ping"}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": THOUGHTS}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
        for i in range(0, len(text), 7):
            yield {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text[i:i + 7]}}
        yield {"type": "content_block_stop", "index": 1}
        usage = {key: self.usage()[key] for key in ("output_tokens", "output_tokens_details")}
        yield {"type": "message_delta", "delta": {"stop_reason": self.stops["refused" if refusal else end]}, "usage": usage}

    final = 'event: message_stop\ndata: {"type": "message_stop"}\n\n'

    def error(self, message, kind="api_error", code=None):
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req-1"}


class Gemini(Dialect):
    def read(self, path, body):
        name, _, query = path.partition("?")
        prefix = "/v1beta/models/"
        need(name.startswith(prefix) and ":" in name, f"unknown path {path}")
        model, _, method = name[len(prefix):].partition(":")
        need((method, query) in (("generateContent", ""), ("streamGenerateContent", "alt=sse")), f"unknown method {method}")
        unknown = set(body) - {"contents", "systemInstruction", "generationConfig"}
        need(not unknown, f"Unknown name {sorted(unknown)}: Cannot find field.")
        config = body.get("generationConfig", {})
        unknown = set(config) - {"maxOutputTokens", "temperature", "thinkingConfig"}
        need(not unknown, f"Unknown name {sorted(unknown)} at 'generation_config'")
        need(isinstance(config.get("maxOutputTokens"), int), "maxOutputTokens is missing")
        need(set(config.get("thinkingConfig", {})) <= {"thinkingLevel", "thinkingBudget"}, "thinkingConfig")
        turns = [(c["role"], texts_of(c["parts"])) for c in body.get("contents", [])]
        check_turns(turns, "model")
        if "systemInstruction" in body:
            texts_of(body["systemInstruction"]["parts"])
        return model, method == "streamGenerateContent", turns

    def usage(self):
        return {"promptTokenCount": USAGE["input"], "cachedContentTokenCount": USAGE["cached"],
                "candidatesTokenCount": USAGE["output"] - USAGE["reasoning"], "thoughtsTokenCount": USAGE["reasoning"],
                "totalTokenCount": USAGE["input"] + USAGE["output"]}

    def chunk(self, model, parts, reason=None):
        candidate = {"index": 0}
        if parts is not None:
            candidate["content"] = {"role": "model", "parts": parts}
        if reason:
            candidate["finishReason"] = reason
        return {"candidates": [candidate], "usageMetadata": self.usage(), "modelVersion": model + "-2026", "responseId": "call-1"}

    def whole(self, model, text, end, refusal=False):
        if refusal:  # the prompt was stopped
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": self.usage(),
                    "modelVersion": model + "-2026", "responseId": "call-1"}
        return self.chunk(model, [{"text": THOUGHTS, "thought": True}, {"text": text}], self.stops[end])

    def events(self, model, text, end, body, refusal=False):
        if refusal:
            yield self.whole(model, text, end, True)
            return
        yield self.chunk(model, [{"text": THOUGHTS, "thought": True}])
        for i in range(0, len(text), 7):
            yield self.chunk(model, [{"text": text[i:i + 7]}])
        yield self.chunk(model, [{"thoughtSignature": "x"}], self.stops[end])

    final = ""

    def error(self, message, kind="INTERNAL", code=500):
        return {"error": {"code": code, "message": message, "status": kind}}


DIALECTS = {name: {"openai": OpenAi, "anthropic": Anthropic, "gemini": Gemini}[r["dialect"]](name) for name, r in ROWS.items()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    # --- what goes out

    def send_json(self, status, value, headers=()):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-request-id", "req-1")
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)
        self.status = status

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("x-request-id", "req-1")
        self.end_headers()
        self.status = 200

    def piece(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")

    def send_events(self, events, final):
        self.begin_stream()
        self.piece(self.row.get("keep_alive", ": hello\n\n"))
        named = self.row["dialect"] == "anthropic"
        for event in events:
            self.piece((f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n")
        if final:
            self.piece(final)
        self.end_stream()

    def answer(self, text, end="complete", refusal=False):
        if self.stream:
            self.send_events(self.dialect.events(self.model, text, end, self.body, refusal), self.dialect.final)
        else:
            self.send_json(200, self.dialect.whole(self.model, text, end, refusal))

    def fail(self, status, message, kind="server_error", code=None, headers=()):
        self.send_json(status, self.dialect.error(message, kind, code or status), headers)

    # --- what comes in

    def do_GET(self):
        self.server.got_elsewhere(self.headers)
        self.send_error(404)

    def do_POST(self):
        self.status = 0
        self.stream = False
        self.model = ""
        key = self.headers.get("Idempotency-Key", "")
        seen = self.server.count(key)
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        name, path = self.split_path()
        try:
            self.row, self.dialect = ROWS[name], DIALECTS[name]
            self.take(name, path, raw, seen)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.note({"row": name, "model": self.model, "idempotency_key": key, "try": seen, "stream": self.stream,
                              "status": self.status})

    def split_path(self):
        first, _, rest = self.path[1:].partition("/")
        return (first, "/" + rest) if first in ROWS else ("openai-compatible", self.path)

    def take(self, name, path, raw, seen):
        given = self.given_key()
        wanted = self.server.keys.get(name)
        try:
            need(self.headers.get("Content-Type", "").startswith("application/json"), "Content-Type is application/json")
            need(name != "anthropic" or self.headers.get("anthropic-version") == "2023-06-01", "anthropic-version: required")
            if wanted is not None and given != wanted:
                return self.fail(401, "invalid key", "authentication_error")
            self.body = json.loads(raw)
            self.model, self.stream, turns = self.dialect.read(path, self.body)
            need(isinstance(self.model, str) and self.model, "model is missing")
        except (Wrong, ValueError, KeyError, TypeError, AttributeError) as problem:
            return self.fail(400, f"{problem}", "invalid_request_error")
        time.sleep(self.server.delay)
        if self.model.startswith("play-"):
            self.play(self.model[5:], given, seen)
        else:
            self.from_folder(turns)

    def given_key(self):
        header, prefix = self.row["auth"]
        value = self.headers.get(header)
        return value[len(prefix):] if value is not None and value.startswith(prefix) else None

    def from_folder(self, turns):
        folder = self.server.answers
        if folder is None:
            return self.answer(ANSWER)
        mine = folder / self.model.replace("/", "_")
        folder = mine if mine.is_dir() else folder
        names = {entry.stem if entry.is_file() else entry.name for entry in folder.iterdir()}
        titles = {name: self.server.titles.get(name, name) for name in names}
        found = max((n for n, title in titles.items() if title in turns[0][1]), key=lambda n: len(titles[n]), default="default")
        turn = sum(role != "user" for role, _ in turns) + 1
        for file in (folder / found / f"{turn}.md", folder / found / f"1.{turn}.md", folder / f"{found}.md", folder / "default.md"):
            if file.is_file():
                return self.answer(file.read_text())
        return self.fail(404, f"there is no answer for '{found}'", "not_found_error")

    # --- scenarios

    def play(self, scenario, key, seen):
        if scenario not in SCENARIOS:
            return self.fail(404, f"no scenario {scenario}", "not_found_error")
        if scenario.endswith("_then_ok") and seen > (3 if scenario == "overloaded_then_ok" else 1):
            return self.answer(ANSWER)
        return getattr(self, "play_" + scenario.removesuffix("_then_ok"))(key or "", seen)

    def play_ok(self, key, seen):
        self.answer(ANSWER)

    def play_whole(self, key, seen):
        self.send_json(200, self.dialect.whole(self.model, ANSWER, "complete"))

    def play_truncated(self, key, seen):
        self.answer(ANSWER[:20], "truncated")

    def play_refused(self, key, seen):
        # By a word of the provider; the first of two tests has the other way, a field or event of its own.
        self.answer(REFUSAL, "complete", True) if self.stream else self.answer(REFUSAL, "refused")

    def play_empty(self, key, seen):
        self.answer("")

    def play_key_in_answer(self, key, seen):
        self.answer(f"the key is {key}.")

    def play_seconds(self, key, seen):
        self.fail(429, "slow down", "rate_limit_error", headers=[("Retry-After", "7")])

    def play_date(self, key, seen):
        # Clocks differ: the server's own date counts.
        then = time.time() + 5000
        self.fake_date = email.utils.formatdate(then, usegmt=True)
        self.fail(429, "slow down", "rate_limit_error", headers=[("Retry-After", email.utils.formatdate(then + 9, usegmt=True))])

    def date_time_string(self, timestamp=None):
        return self.__dict__.pop("fake_date", None) or super().date_time_string(timestamp)

    def play_overloaded(self, key, seen):
        self.fail([503, 529, 500][seen - 1], "overloaded", "overloaded_error")

    def play_stall(self, key, seen):
        if self.stream:
            self.begin_stream()
            self.piece(": hello\n\n")
        self.server.until_closed(self.connection)
        self.close_connection = True

    def play_broken(self, key, seen):
        if self.stream:
            self.begin_stream()
            event = next(self.dialect.events(self.model, ANSWER, "complete", self.body))
            self.piece(f"data: {json.dumps(event)}\n\n")
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id":')
        self.status = 200
        self.close_connection = True

    def play_no_final(self, key, seen):
        if not self.stream:
            return self.play_broken(key, seen)
        events = list(self.dialect.events(self.model, ANSWER, "complete", self.body))
        # Without the last ones, which say how it ended.
        kept = [e for e in events if not any(word in json.dumps(e) for word in ('"stop"', "end_turn", '"STOP"'))]
        self.send_events(kept[:-1], "")

    def play_error_event(self, key, seen):
        error = self.dialect.error("Overloaded", "overloaded_error", 503)
        if not self.stream:
            return self.send_json(200, error)
        events = list(self.dialect.events(self.model, ANSWER, "complete", self.body))
        self.send_events([*events[:3], error], "")

    def play_malformed(self, key, seen):
        if self.stream:
            self.begin_stream()
            self.piece('data: {"id": "call-1", "choices": [}\n\n')
            self.end_stream()
        else:
            self.send_json(200, b'{"id": "call-1", "choices": [}')

    def play_bad_stop(self, key, seen):
        self.answer(ANSWER[:20], "bad")

    def play_failing(self, key, seen):
        self.fail(500, "internal error")

    def play_huge(self, key, seen):
        if self.stream:
            self.begin_stream()
            event = list(self.dialect.events(self.model, "x" * 7, "complete", self.body))[-3]
            line = f"data: {json.dumps(event)}\n\n" * 500
            for _ in range(10000):
                self.piece(line)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(10 ** 12))
            self.end_headers()
            self.status = 200
            self.wfile.write(b'{"choices": "')
            for _ in range(100000):
                self.wfile.write(b"x" * 65536)

    def play_wrong_key(self, key, seen):
        self.fail(401, f"Incorrect API key provided: {key}. You can find yours on our site.", "authentication_error",
                  headers=[("x-echo", key)])

    def play_forbidden(self, key, seen):
        self.fail(403, f"The key {key[:len(key) // 2]}... may not use this model", "permission_error")

    def play_bad_request(self, key, seen):
        self.fail(400, f"temperature: out of range (key {key})", "invalid_request_error")

    def play_not_found(self, key, seen):
        self.fail(404, "no such model", "not_found_error")

    def play_too_large(self, key, seen):
        self.fail(413, "prompt is too long", "request_too_large")

    def play_unprocessable(self, key, seen):
        self.fail(422, "max_tokens: too many", "invalid_request_error")

    def play_no_credit(self, key, seen):
        self.fail(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota", [("Retry-After", "1")])

    def play_elsewhere(self, key, seen):
        self.send_json(302, {}, [("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")])

    def play_much_later(self, key, seen):
        self.fail(429, "come back tomorrow", "rate_limit_error", headers=[("Retry-After", "86400")])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port=0, answers=None, log=None, delay_ms=0, keys=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.answers = pathlib.Path(answers) if answers else None
        self.log = open(log, "a", buffering=1) if log else None
        self.delay = delay_ms / 1000
        self.keys = keys or {}
        self.titles = {}  # of problems, by name
        self.seen, self.records, self.elsewhere = {}, [], []
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    def count(self, key):
        with self.lock:
            self.seen[key] = self.seen.get(key, 0) + 1
            return self.seen[key]

    def note(self, record):
        with self.lock:
            self.records.append(record)
            if self.log:
                self.log.write(json.dumps(record) + "\n")

    def got_elsewhere(self, headers):
        self.elsewhere.append(dict(headers))

    @staticmethod
    def until_closed(connection, most=30):
        connection.settimeout(most)
        try:
            while connection.recv(1):
                pass
        except OSError:
            pass


def titles_of(pack):
    titles = {file.parent.name: tomllib.loads(file.read_text())["title"] for file in pack.glob("*/*/*/problem.toml")}
    variants = [tomllib.loads(file.read_text()) for file in pack.glob("*/*/*/variants/*/variant.toml")]
    return titles | {variant["name"]: variant["title"] for variant in variants}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answers", metavar="FOLDER")
    parser.add_argument("--problems", metavar="FOLDER", help="a pack: its problems are known by their titles, which prompts tell")
    parser.add_argument("--log", metavar="FILE")
    parser.add_argument("--delay-ms", type=int, default=0)
    parser.add_argument("--key", help="refuse any other, whatever the row")
    options = parser.parse_args()
    keys = dict.fromkeys(ROWS, options.key) if options.key else None
    server = Server(options.port, options.answers, options.log, options.delay_ms, keys)
    server.titles = titles_of(pathlib.Path(options.problems)) if options.problems else {}
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        os._exit(0)


if __name__ == "__main__":
    main()
