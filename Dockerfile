# The official images build Python with profile-guided optimisation (PGO). This one also has a C compiler.
FROM python:3.14 AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY protocol protocol
COPY server server
COPY clients clients
COPY examples/verify examples/verify
# The hook compiles the busiest modules of the library.
RUN HATCH_BUILD_HOOKS_ENABLE=1 pip wheel --no-cache-dir --wheel-dir /wheels -c constraints.txt '.[server,tui,fast]'

FROM python:3.14-slim
RUN useradd --system --uid 10001 --no-create-home samedeal \
    && install -d -o samedeal -g samedeal -m 700 /data
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'samedeal[server,tui,fast]' \
    && rm -rf /wheels

ENV PYTHONUNBUFFERED=1 SAMEDEAL_HOST=0.0.0.0 SAMEDEAL_PORT=8640 SAMEDEAL_DATA_DIR=/data
USER samedeal
VOLUME /data
EXPOSE 8640
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8640/healthz', timeout=2)"]
CMD ["python", "-m", "samedeal_server"]
