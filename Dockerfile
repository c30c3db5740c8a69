# FabricBench with everything that judging needs; no GPU and no CUDA toolkit involved.
#
#   docker build -t fabricbench .
#   docker run --rm -v "$PWD:/work" -w /work fabricbench exec --check solution.cu
#
# `check`, `run` and `prove` make sandboxes, as an ordinary user and without capabilities. docs/install.md has the options
# that they need, and why; --privileged is none of them.
FROM debian:12 AS build
COPY .ci/packages /tmp/packages
# git: the version names the commit.
RUN apt-get update \
 && apt-get install -y --no-install-recommends $(sed -n 's/^\(build\|run\): //p' /tmp/packages) git nodejs npm dpkg-dev file
COPY . /source
WORKDIR /source
RUN cmake --preset release -DFB_WEB=ON \
 && cmake --build --preset release \
 && cd build/release && cpack -G DEB -B /packages

FROM debian:12
COPY --from=build /packages/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home fabricbench
USER fabricbench
ENTRYPOINT ["fabricbench"]
CMD ["help"]
