# Images are pinned by digest. To update one: docker buildx imagetools inspect python:3.14-slim-trixie
# The official images build Python with profile-guided optimisation (PGO).
FROM python:3.14.7-slim-trixie@sha256:83c1cebb322d099ac9e3a3a532ba74b0146d702838b25e4c75c02fa81ffeb910 AS build
WORKDIR /src
COPY pyproject.toml build_version.py constraints.txt README.md LICENSE ./
COPY protocol protocol
COPY server server
COPY clients clients
COPY examples/verify examples/verify
# The version names this commit, because .git is not in the image. See docs/operate/operations.md.
ARG SAMEDEAL_COMMIT
# The result has no pip.
RUN python -m venv --without-pip /opt/samedeal \
    && pip --python /opt/samedeal install --no-cache-dir -c constraints.txt --build-constraint constraints.txt '.[all]'

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
