# The executable on a base without a shell, as a user without rights. See docs/ci.md.
FROM node:22-bookworm-slim AS build
WORKDIR /smstwin
COPY package.json package-lock.json ./
COPY src/http/transport/uws src/http/transport/uws
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build:binary

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /smstwin/build/smstwin-linux-x64 /usr/bin/smstwin
COPY --from=build /smstwin/build/smstwin-linux-x64-licences.txt /usr/share/doc/smstwin/
# By number, as Kubernetes' runAsNonRoot asks; distroless calls it nonroot.
USER 65532:65532
EXPOSE 8080 8081
ENV SMSTWIN_HOST=0.0.0.0 SMSTWIN_CONTROL_HOST=0.0.0.0
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["/usr/bin/smstwin", "health"]
ENTRYPOINT ["/usr/bin/smstwin"]
CMD ["serve"]
