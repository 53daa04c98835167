# syntax=docker/dockerfile:1
# Build stage: setup.mjs fetches the pinned Node out of package-lock.json, so any recent Node image will do.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc setup.mjs ./
COPY build/inputs.mjs build/
RUN node setup.mjs
COPY . .
# The release tag; shown as the service's version.
ARG VERSION=unknown
RUN printf '%s\n' "$VERSION" > VERSION && npm run --silent build -- --exe
# The executable, the C library it asks for, ripgrep (static), one user, a place for data: nothing else, so no shell and no package manager.
RUN mkdir -p /image/etc /image/data && mkdir -m 1777 /image/tmp \
    && cp dist/agent-webui /image/ \
    && mkdir -p /image/usr/bin && cp node_modules/@vscode/ripgrep-linux-*/bin/rg /image/usr/bin/ \
    && ldd dist/agent-webui | grep -o '/[^ ]*' | xargs cp --dereference --parents --target-directory=/image \
    && echo 'agent:x:65532:65532::/data:/none' > /image/etc/passwd \
    && echo 'agent:x:65532:' > /image/etc/group

FROM scratch
COPY --from=build /image /
COPY --from=build --chown=65532:65532 /image/data /data
ENV HOME=/data AGENT_WEBUI_HOST=0.0.0.0
VOLUME /data
EXPOSE 8787
USER 65532:65532
ENTRYPOINT ["/agent-webui"]
