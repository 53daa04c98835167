# syntax=docker/dockerfile:1
# Two images: `slim`, the default, has what an agent works with; `bare` (--target bare) is the executable alone.

# setup.mjs fetches the pinned Node out of package-lock.json, so any recent Node image will do.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc setup.mjs ./
COPY build/inputs.mjs build/node-flags.mjs build/mermaid.tgz build/
RUN node setup.mjs
COPY . .
# The release tag; shown as the service's version.
ARG VERSION=unknown
RUN printf '%s\n' "$VERSION" > VERSION && npm run --silent build -- --exe
RUN mkdir /out && cp dist/agent-webui node_modules/@vscode/ripgrep-linux-*/bin/rg /out/

# The file system of the image without a system: the executable, the C library it asks for, ripgrep (static), a place for data.
# Anyone may write there: the image runs under any user id, and a new volume gets these permissions.
FROM debian:bookworm-slim AS files
COPY --from=build /out/agent-webui /image/agent-webui
COPY --from=build /out/rg /image/usr/bin/rg
RUN mkdir -p /image/etc && mkdir -m 1777 /image/tmp /image/data \
    && ldd /image/agent-webui | grep -o '/[^ ]*' | xargs cp --dereference --parents --target-directory=/image \
    && echo 'agent:x:65532:65532::/data:/none' > /image/etc/passwd \
    && echo 'agent:x:65532:' > /image/etc/group

# No shell, so no commands, no git, no Python: for chats, for agents elsewhere, and to be copied into an image of your own.
FROM scratch AS bare
ARG VERSION=unknown
LABEL org.opencontainers.image.title="agent-webui (bare)" \
      org.opencontainers.image.description="A browser's access to an AI agent. Without a shell: the agent cannot run commands." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION"
COPY --from=files /image /
ENV HOME=/data AGENT_WEBUI_HOST=0.0.0.0 \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072
VOLUME /data
EXPOSE 8787
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s CMD ["/agent-webui", "doctor", "--wait", "5"]
ENTRYPOINT ["/agent-webui"]

FROM debian:bookworm-slim AS slim
ARG VERSION=unknown
LABEL org.opencontainers.image.title="agent-webui" \
      org.opencontainers.image.description="A browser's access to an AI agent, with git, Python, ripgrep, and bubblewrap" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION"
# ripgrep is not Debian's, which is too old.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git openssh-client procps python3 tini util-linux \
    && rm -rf /var/lib/apt/lists/* \
    && echo 'agent:x:65532:65532::/data:/bin/bash' >> /etc/passwd \
    && echo 'agent:x:65532:' >> /etc/group \
    && mkdir -m 1777 /data
COPY --from=build /out/agent-webui /out/rg /usr/local/bin/
# The container is a wall of its own, so what runs directly in it asks before dangerous commands only, like the command line.
ENV HOME=/data AGENT_WEBUI_HOST=0.0.0.0 AGENT_WEBUI_OUTSIDE_SANDBOX=dangerous \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072
VOLUME /data
WORKDIR /data
EXPOSE 8787
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s CMD ["agent-webui", "doctor", "--wait", "5"]
# tini ends what commands leave behind, which is a duty of process 1.
ENTRYPOINT ["tini", "--", "agent-webui"]
