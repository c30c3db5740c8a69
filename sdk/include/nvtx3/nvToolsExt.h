// NVTX: ranges and marks for a profiler. No profiler listens here: the calls do nothing and answer as NVTX does without
// a tool. For C and C++.
#ifndef NVTX_VERSION
#define NVTX_VERSION 3
#pragma GCC system_header
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_API
#define NVTX_SUCCESS 0
#define NVTX_FAIL 1
#define NVTX_NO_PUSH_POP_TRACKING (-2)
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_RESOURCE_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxResourceAttributes_t))
#define NVTX_RESOURCE_CLASS_GENERIC 1
#define NVTX_DECLSPEC static __inline__ __attribute__((unused))

typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
  NVTX_MESSAGE_UNKNOWN = 0,
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
  NVTX_PAYLOAD_TYPE_INT32 = 5,
  NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;
typedef enum nvtxResourceGenericType_t {
  NVTX_RESOURCE_TYPE_UNKNOWN = 0,
  NVTX_RESOURCE_TYPE_GENERIC_POINTER = 0x10001,
  NVTX_RESOURCE_TYPE_GENERIC_HANDLE = 0x10002,
  NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = 0x10003,
  NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX = 0x10004
} nvtxResourceGenericType_t;

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st nvtxDomainRegistration;
typedef nvtxDomainRegistration* nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st nvtxStringRegistration;
typedef nvtxStringRegistration* nvtxStringHandle_t;
typedef struct nvtxResourceHandle* nvtxResourceHandle_t;
typedef union nvtxMessageValue_t {
  const char* ascii;
  const wchar_t* unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct nvtxEventAttributes_v2 {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType;
  int32_t reserved0;
  union payload_t {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;
typedef struct nvtxResourceAttributes_v0 {
  uint16_t version;
  uint16_t size;
  int32_t identifierType;
  union identifier_t {
    const void* pValue;
    uint64_t ullValue;
  } identifier;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxResourceAttributes_v0;
typedef struct nvtxResourceAttributes_v0 nvtxResourceAttributes_t;

NVTX_DECLSPEC void nvtxInitialize(const void* reserved) { (void)reserved; }
NVTX_DECLSPEC void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  (void)domain;
  (void)event;
}
NVTX_DECLSPEC void nvtxMarkEx(const nvtxEventAttributes_t* event) { (void)event; }
NVTX_DECLSPEC void nvtxMarkA(const char* text) { (void)text; }
NVTX_DECLSPEC void nvtxMarkW(const wchar_t* text) { (void)text; }
NVTX_DECLSPEC nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  (void)domain;
  (void)event;
  return 0;
}
NVTX_DECLSPEC nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t* event) {
  (void)event;
  return 0;
}
NVTX_DECLSPEC nvtxRangeId_t nvtxRangeStartA(const char* text) {
  (void)text;
  return 0;
}
NVTX_DECLSPEC nvtxRangeId_t nvtxRangeStartW(const wchar_t* text) {
  (void)text;
  return 0;
}
NVTX_DECLSPEC void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  (void)domain;
  (void)id;
}
NVTX_DECLSPEC void nvtxRangeEnd(nvtxRangeId_t id) { (void)id; }
NVTX_DECLSPEC int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  (void)domain;
  (void)event;
  return NVTX_NO_PUSH_POP_TRACKING;
}
NVTX_DECLSPEC int nvtxRangePushEx(const nvtxEventAttributes_t* event) {
  (void)event;
  return NVTX_NO_PUSH_POP_TRACKING;
}
NVTX_DECLSPEC int nvtxRangePushA(const char* text) {
  (void)text;
  return NVTX_NO_PUSH_POP_TRACKING;
}
NVTX_DECLSPEC int nvtxRangePushW(const wchar_t* text) {
  (void)text;
  return NVTX_NO_PUSH_POP_TRACKING;
}
NVTX_DECLSPEC int nvtxDomainRangePop(nvtxDomainHandle_t domain) {
  (void)domain;
  return NVTX_NO_PUSH_POP_TRACKING;
}
NVTX_DECLSPEC int nvtxRangePop(void) { return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_DECLSPEC nvtxResourceHandle_t nvtxDomainResourceCreate(nvtxDomainHandle_t domain,
                                                            nvtxResourceAttributes_t* attributes) {
  (void)domain;
  (void)attributes;
  return NULL;
}
NVTX_DECLSPEC void nvtxDomainResourceDestroy(nvtxResourceHandle_t resource) { (void)resource; }
NVTX_DECLSPEC void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char* text) {
  (void)domain;
  (void)category;
  (void)text;
}
NVTX_DECLSPEC void nvtxDomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t* text) {
  (void)domain;
  (void)category;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCategoryA(uint32_t category, const char* text) {
  (void)category;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCategoryW(uint32_t category, const wchar_t* text) {
  (void)category;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameOsThreadA(uint32_t thread, const char* text) {
  (void)thread;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameOsThreadW(uint32_t thread, const wchar_t* text) {
  (void)thread;
  (void)text;
}
NVTX_DECLSPEC nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  (void)domain;
  (void)text;
  return NULL;
}
NVTX_DECLSPEC nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  (void)domain;
  (void)text;
  return NULL;
}
NVTX_DECLSPEC nvtxDomainHandle_t nvtxDomainCreateA(const char* text) {
  (void)text;
  return NULL;
}
NVTX_DECLSPEC nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t* text) {
  (void)text;
  return NULL;
}
NVTX_DECLSPEC void nvtxDomainDestroy(nvtxDomainHandle_t domain) { (void)domain; }

#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxRangePush nvtxRangePushA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainCreate nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#define nvtxDomainNameCategory nvtxDomainNameCategoryA
#endif
