#include "campaign/report/site/markdown.h"

#include <md4c.h>

#include <algorithm>
#include <string>
#include <vector>

#include "campaign/report/site/code_view.h"

namespace fb::report::site {
namespace {

// Nested quotes, lists and emphasis below this level are shown at this level. Every level copies its content once.
constexpr int kDeepest = 12;
// Bound on md4c's callbacks. A table row is padded to the width of its header, so that a hostile table has a number of
// cells quadratic in its length.
constexpr size_t kCallbacksPerByte = 8, kCallbacksAtLeast = 1000;

std::string_view view(const MD_ATTRIBUTE& attribute) {
  return attribute.text == nullptr ? std::string_view() : std::string_view(attribute.text, attribute.size);
}

// md4c reports the text as a sequence of events. Every open element has a buffer of its content on the stack.
class Renderer {
 public:
  Renderer(std::string_view text, int first_heading, const RenderCode& render_code)
      : text_(text),
        first_heading_(first_heading),
        render_code_(render_code),
        callbacks_left_(text.size() * kCallbacksPerByte + kCallbacksAtLeast) {}

  Html render() {
    MD_PARSER parser{};
    parser.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) { return of(self).enter_block(type, detail); };
    parser.leave_block = [](MD_BLOCKTYPE type, void* detail, void* self) { return of(self).leave_block(type, detail); };
    parser.enter_span = [](MD_SPANTYPE, void*, void* self) { return of(self).enter_span(); };
    parser.leave_span = [](MD_SPANTYPE type, void* detail, void* self) { return of(self).leave_span(type, detail); };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return of(self).add_text(type, {text, size});
    };
    open_.emplace_back();
    if (md_parse(text_.data(), static_cast<MD_SIZE>(text_.size()), &parser, this) == 0) return std::move(open_.front());
    return html("<pre>{}</pre>\n", text_);
  }

 private:
  static Renderer& of(void* self) { return *static_cast<Renderer*>(self); }
  // What a callback returns: non-zero ends the parse. md4c ignores it within a row, so that it must stay non-zero.
  int proceed() {
    if (callbacks_left_ == 0) return 1;
    --callbacks_left_;
    return 0;
  }

  static bool is_container(MD_BLOCKTYPE type) {
    return type == MD_BLOCK_QUOTE || type == MD_BLOCK_UL || type == MD_BLOCK_OL || type == MD_BLOCK_LI;
  }

  int enter_block(MD_BLOCKTYPE type, const void* detail) {
    // The number is not in the detail of the event at the end.
    if (type == MD_BLOCK_OL) starts_.push_back(static_cast<const MD_BLOCK_OL_DETAIL*>(detail)->start);
    if (type == MD_BLOCK_CODE) {
      is_code_ = true;
      code_.clear();
      code_line_ = 0;
    } else if (is_container(type) && ++depth_ > kDeepest) {
      return proceed();
    } else if (type != MD_BLOCK_DOC) {
      open_.emplace_back();
    }
    return proceed();
  }

  int leave_block(MD_BLOCKTYPE type, const void* detail) {
    const unsigned start = type == MD_BLOCK_OL ? starts_.back() : 1;
    if (type == MD_BLOCK_OL) starts_.pop_back();
    if (type == MD_BLOCK_CODE) {
      is_code_ = false;
      open_.back() += render_code_ ? render_code_(code_, code_line_) : code_block(code_);
    } else if (is_container(type) && depth_-- > kDeepest) {
      return proceed();
    } else if (type != MD_BLOCK_DOC) {
      const Html content = close();
      open_.back() += wrap(type, detail, start, content);
    }
    return proceed();
  }

  Html wrap(MD_BLOCKTYPE type, const void* detail, unsigned start, const Html& content) const {
    switch (type) {
      case MD_BLOCK_QUOTE:
        return html("<blockquote>{}</blockquote>\n", content);
      case MD_BLOCK_UL:
        return html("<ul>\n{}</ul>\n", content);
      case MD_BLOCK_OL:
        return start == 1 ? html("<ol>\n{}</ol>\n", content) : html("<ol start=\"{}\">\n{}</ol>\n", start, content);
      case MD_BLOCK_LI:
        return html("<li>{}</li>\n", content);
      case MD_BLOCK_HR:
        return html("<hr>\n");
      case MD_BLOCK_H: {
        const auto level = static_cast<int>(static_cast<const MD_BLOCK_H_DETAIL*>(detail)->level);
        return html("<h{0}>{1}</h{0}>\n", std::min(first_heading_ + level - 1, 6), content);
      }
      case MD_BLOCK_P:
        return html("<p>{}</p>\n", content);
      case MD_BLOCK_TABLE:
        return html("<div class=\"scroll\"><table>{}</table></div>\n", content);
      case MD_BLOCK_THEAD:
        return html("<thead>{}</thead>", content);
      case MD_BLOCK_TBODY:
        return html("<tbody>\n{}</tbody>", content);
      case MD_BLOCK_TR:
        return html("<tr>{}</tr>\n", content);
      case MD_BLOCK_TH:
      case MD_BLOCK_TD: {
        const char* name = type == MD_BLOCK_TH ? "th" : "td";
        const bool is_right = static_cast<const MD_BLOCK_TD_DETAIL*>(detail)->align == MD_ALIGN_RIGHT;
        return is_right ? html("<{0} class=\"num\">{1}</{0}>", name, content) : html("<{0}>{1}</{0}>", name, content);
      }
      default:
        return content;
    }
  }

  int enter_span() {
    if (++depth_ <= kDeepest) open_.emplace_back();
    return proceed();
  }

  int leave_span(MD_SPANTYPE type, const void* detail) {
    if (depth_-- > kDeepest) return proceed();
    const Html content = close();
    open_.back() += wrap(type, detail, content);
    return proceed();
  }

  static Html wrap(MD_SPANTYPE type, const void* detail, const Html& content) {
    switch (type) {
      case MD_SPAN_EM:
        return html("<em>{}</em>", content);
      case MD_SPAN_STRONG:
        return html("<strong>{}</strong>", content);
      case MD_SPAN_CODE:
        return html("<code>{}</code>", content);
      case MD_SPAN_DEL:
        return html("<del>{}</del>", content);
      case MD_SPAN_A:
        return with_address(content, view(static_cast<const MD_SPAN_A_DETAIL*>(detail)->href));
      case MD_SPAN_IMG:
        return with_address(content, view(static_cast<const MD_SPAN_IMG_DETAIL*>(detail)->src));
      default:
        return content;
    }
  }

  static Html with_address(const Html& content, std::string_view address) {
    // An autolink's text is its address.
    if (content.str() == Html::text(address).str()) return content;
    return html("{} <small>({})</small>", content, address);
  }

  int add_text(MD_TEXTTYPE type, std::string_view text) {
    if (is_code_) {
      // Line ends and indents are md4c's own strings; the rest points into the text.
      if (code_line_ == 0 && text.data() >= text_.data() && text.data() < text_.data() + text_.size()) {
        code_line_ = line_of(static_cast<size_t>(text.data() - text_.data())) -
                     static_cast<uint32_t>(std::ranges::count(code_, '\n'));
      }
      code_ += text;
    } else if (type == MD_TEXT_BR) {
      open_.back() += html("<br>\n");
    } else if (type == MD_TEXT_SOFTBR) {
      open_.back() += html("\n");
    } else {
      // Entities are shown as they are written.
      open_.back() += Html::text(text);
    }
    return proceed();
  }

  Html close() {
    Html content = std::move(open_.back());
    open_.pop_back();
    return content;
  }

  // Offsets come in ascending order.
  uint32_t line_of(size_t offset) {
    line_ += static_cast<uint32_t>(std::ranges::count(text_.substr(counted_, offset - counted_), '\n'));
    counted_ = offset;
    return line_;
  }

  std::string_view text_;
  int first_heading_;
  const RenderCode& render_code_;
  size_t callbacks_left_;
  std::vector<Html> open_;
  std::vector<unsigned> starts_;  // numbers of the first items of the open ordered lists
  int depth_ = 0;
  bool is_code_ = false;
  std::string code_;
  uint32_t code_line_ = 0;
  size_t counted_ = 0;  // line_ is the number of the line at this offset
  uint32_t line_ = 1;
};

}  // namespace

Html render_markdown(std::string_view text, int first_heading, const RenderCode& render_code) {
  return Renderer(text, first_heading, render_code).render();
}

}  // namespace fb::report::site
