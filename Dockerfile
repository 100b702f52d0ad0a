# Images are pinned by digest. To update one: docker buildx imagetools inspect python:3.14-trixie
# The official images build Python with profile-guided optimisation (PGO). This one also has a C compiler.
FROM python:3.14.7-trixie@sha256:0876e54cf728d89fd9d0fdaf5837b9ee879ea5fbbd6fd0cddbe5eb0cce3f5f9e AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py attribute_cache.h constraints.txt README.md LICENSE ./
COPY protocol protocol
COPY server server
COPY clients clients
COPY examples/verify examples/verify
# The hook compiles the busiest modules of the library. The result has no pip.
RUN python -m venv --without-pip /opt/samedeal \
    && HATCH_BUILD_HOOKS_ENABLE=1 pip --python /opt/samedeal install --no-cache-dir \
        -c constraints.txt --build-constraint constraints.txt '.[all]'

FROM python:3.14.7-slim-trixie@sha256:83c1cebb322d099ac9e3a3a532ba74b0146d702838b25e4c75c02fa81ffeb910
COPY --from=build /opt/samedeal /opt/samedeal
RUN install -d -o 10001 -g 10001 -m 700 /data

# The server writes only to /data and /tmp, so the root file system can be read-only.
ENV PATH=/opt/samedeal/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    SAMEDEAL_HOST=0.0.0.0 SAMEDEAL_PORT=8640 SAMEDEAL_DATA_DIR=/data
USER 10001:10001
VOLUME /data
EXPOSE 8640
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8640/healthz', timeout=2)"]
CMD ["python", "-m", "samedeal_server"]
