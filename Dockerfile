# The image of Furrow: one static binary, and the certificate authorities that it trusts.
#   make image

FROM --platform=$BUILDPLATFORM golang:1.26.10-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY main.go ./
COPY api/ api/
COPY controllers/ controllers/
COPY internal/ internal/
COPY templates/ templates/
ARG VERSION=unknown
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X github.com/furrow-dev/furrow/internal/cli.version=$VERSION" \
    -o /out/furrow .
RUN mkdir -p /out/cache

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Furrow" \
      org.opencontainers.image.description="GitOps scheduler for fleets of Kubernetes clusters" \
      org.opencontainers.image.source="https://github.com/furrow-dev/furrow" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /out/cache /var/cache/furrow
COPY --from=build /out/furrow /furrow
ENV HOME=/var/cache/furrow TMPDIR=/var/cache/furrow
USER 65532:65532
ENTRYPOINT ["/furrow"]
