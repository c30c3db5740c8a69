#pragma once

namespace fb::shim::cublas {

// CUBLAS_STATUS_NOT_SUPPORTED; the run's record counts it by name.
int not_modelled(const char* function);

}  // namespace fb::shim::cublas
