FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY main.go ./
COPY api/ api/
COPY controllers/ controllers/
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /manager . && \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /guard ./controllers/activity/guard && \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /etcd-launcher ./controllers/etcd/launcher && \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /backup-runner ./controllers/backup/runner

FROM gcr.io/distroless/static:nonroot
COPY --from=build /manager /guard /etcd-launcher /backup-runner /
USER 65532:65532
ENTRYPOINT ["/manager"]
