# FabricBench with everything that judging needs; no GPU and no CUDA toolkit involved.
#
#   docker build -t fabricbench .
#   docker run --rm --privileged -v "$PWD:/work" -w /work fabricbench check --quick push_copy solution.cu
#
# The judge confines candidates with bubblewrap, which needs namespaces: --privileged, or a seccomp profile and an AppArmor
# profile that allow them. Without, `check` refuses to run and says so; --unsafe-no-sandbox judges code that you trust.
FROM debian:12 AS build
COPY .ci/packages /tmp/packages
RUN apt-get update && apt-get install -y --no-install-recommends $(sed -n 's/^\(build\|run\): //p' /tmp/packages) nodejs npm dpkg-dev file
COPY . /source
WORKDIR /source
RUN cmake --preset release -DFB_WEB=ON -DFB_TESTS=OFF -DFB_BENCH=OFF \
 && cmake --build --preset release \
 && cd build/release && cpack -G DEB -B /packages

FROM debian:12
COPY --from=build /packages/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
ENTRYPOINT ["fabricbench"]
CMD ["help"]
