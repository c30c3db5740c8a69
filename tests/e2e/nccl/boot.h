// A communicator of all ranks of `fabricbench exec --ranks N`, one device each.
#pragma once

#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define NCCL(call)                                                                                          \
  do {                                                                                                      \
    const ncclResult_t result_ = (call);                                                                    \
    if (result_ != ncclSuccess) {                                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, ncclGetErrorString(result_), ncclGetLastError(0)); \
      std::exit(3);                                                                                         \
    }                                                                                                       \
  } while (0)

struct World {
  int rank = std::atoi(std::getenv("RANK")), ranks = std::atoi(std::getenv("WORLD_SIZE"));

  // The id goes through a file that the ranks of one launcher share.
  ncclUniqueId share_id() const {
    static int number = 0;
    const char* folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder ? folder : "/tmp") + "/nccl_id." + std::to_string(getppid()) + "." +
                             std::to_string(number++);
    ncclUniqueId id;
    if (rank == 0) {
      NCCL(ncclGetUniqueId(&id));
      const std::string fresh = path + ".new";
      FILE* file = std::fopen(fresh.c_str(), "wb");
      std::fwrite(&id, sizeof id, 1, file);
      std::fclose(file);
      std::rename(fresh.c_str(), path.c_str());
      return id;
    }
    FILE* file = nullptr;
    while (!(file = std::fopen(path.c_str(), "rb"))) usleep(500);
    if (std::fread(&id, sizeof id, 1, file) != 1) std::exit(3);
    std::fclose(file);
    return id;
  }

  ncclComm_t connect() const {
    cudaSetDevice(rank);
    const ncclUniqueId id = share_id();
    ncclComm_t comm;
    NCCL(ncclCommInitRank(&comm, ranks, id, rank));
    return comm;
  }
};
