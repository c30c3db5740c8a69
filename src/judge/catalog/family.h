#pragma once

// Headers of a family: files beside the folders of its problems, for what their solutions and drivers share.

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::catalog {

using FamilyHeaders = std::map<std::string, std::string>;  // name → text

// A source with the texts of its family's headers in place of its lines `#include "../NAME.h"`, since the judge
// compiles a text and not a folder. `family` is the folder of the headers; those that were read are added to `headers`.
Result<std::string> with_family_headers(std::string_view source, const std::string& family, FamilyHeaders& headers);

// The text of `file` as the judge needs it: with its family's headers if it is a file of the problem's folder. Answers
// from elsewhere can't include them.
Result<std::string> with_headers_of(const Problem& problem, const std::string& file, std::string text);

}  // namespace fb::catalog
