# docker build -t evenkeel .                      the runtime image
# docker build --target test .                    the same sources, tested
# docker run --read-only --cap-drop ALL -p 50051:50051 -p 9464:9464 evenkeel
# Without a Docker engine: deploy/image/build.sh
ARG DEBIAN=debian:bookworm-slim

FROM ${DEBIAN} AS build
# Packages are upgraded, so that the libraries taken over into the image are those with the latest fixes.
COPY deploy/install-packages.sh deploy/packages-build.txt deploy/packages-image.txt /src/deploy/
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get upgrade -y -qq \
    && /src/deploy/install-packages.sh build image && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt LICENSE ./
COPY proto proto
COPY planner planner
COPY server server
COPY client client
# A folder that outlives the build, if the builder mounts one there.
ARG CCACHE_DIR=/var/cache/ccache
ARG JOBS=
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEVENKEEL_BUILD_TESTS=OFF \
    && cmake --build build --parallel ${JOBS} --target evenkeel-server evenkeelctl evenkeel-store \
    && strip build/bin/evenkeel-server build/bin/evenkeelctl build/bin/evenkeel-store
COPY deploy/sbom.py deploy/
COPY deploy/image deploy/image
RUN deploy/image/make_root.py --build build --output /image-root

FROM build AS test
COPY . .
RUN tests/run.sh

# Nothing but the programs and what they load: no shell, no package manager.
FROM scratch AS runtime
ARG VERSION=1.22.0
LABEL org.opencontainers.image.title="evenkeel" \
      org.opencontainers.image.description="Planning service for training jobs on GPU clusters" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image-root/ /
ENV PATH=/usr/local/bin LANG=C.UTF-8
# A user without home or rights; the server writes nothing, so the root file system may be read-only.
USER 65532:65532
EXPOSE 50051 9464
HEALTHCHECK --interval=30s --timeout=5s \
    CMD ["evenkeelctl", "healthcheck", "--server", "127.0.0.1:50051", "--timeout", "4"]
ENTRYPOINT ["evenkeel-server"]
# Plaintext, because certificates are the cluster's: give --tls-cert and --tls-key where strangers reach the port.
CMD ["--listen", "0.0.0.0:50051", "--allow-plaintext=true", "--metrics-address", "0.0.0.0:9464"]
