# docker build -t evenkeel .                      the runtime image
# docker build --target test .                    the same sources, tested
# docker run --read-only -p 50051:50051 -p 9464:9464 evenkeel
ARG DEBIAN=debian:bookworm-slim

FROM ${DEBIAN} AS build
COPY deploy/install-packages.sh deploy/packages-build.txt /src/deploy/
RUN /src/deploy/install-packages.sh build && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt LICENSE ./
COPY proto proto
COPY planner planner
COPY server server
COPY client client
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEVENKEEL_BUILD_TESTS=OFF \
    && cmake --build build --target evenkeel-server evenkeelctl evenkeel-store \
    && strip build/bin/evenkeel-server build/bin/evenkeelctl build/bin/evenkeel-store

FROM build AS test
COPY . .
RUN tests/run.sh

FROM ${DEBIAN} AS runtime
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="evenkeel" \
      org.opencontainers.image.description="Planning service for training jobs on GPU clusters" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY deploy/install-packages.sh deploy/packages-runtime.txt /deploy/
RUN /deploy/install-packages.sh runtime && rm -rf /var/lib/apt/lists/* /deploy
COPY --from=build /src/build/bin/evenkeel-server /src/build/bin/evenkeelctl /src/build/bin/evenkeel-store /usr/local/bin/
COPY LICENSE /usr/share/doc/evenkeel/LICENSE
# A user without name, home or rights; the server writes nothing, so the root file system may be read-only.
USER 65532:65532
EXPOSE 50051 9464
HEALTHCHECK --interval=30s --timeout=5s CMD ["evenkeelctl", "list", "--server", "127.0.0.1:50051"]
ENTRYPOINT ["evenkeel-server"]
# Plaintext, because certificates are the cluster's: give --tls-cert and --tls-key where strangers reach the port.
CMD ["--listen", "0.0.0.0:50051", "--allow-plaintext=true", "--metrics-address", "0.0.0.0:9464"]
