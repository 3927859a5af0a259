# Builds an image for the driver and the executors of Spark on Kubernetes, with the library:
# docker build --file deploy/spark.Dockerfile --tag lonnymq-spark .
# Spark's own image has the scripts that Kubernetes starts and a Java, but an older Python than the library needs.
ARG SPARK=4.0.1-scala2.13-java17-python3-ubuntu
FROM apache/spark:${SPARK} AS spark

FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
ARG SPARK
RUN python -m venv /opt/lonnymq \
 && pip wheel --no-cache-dir --no-deps --wheel-dir /dist . \
 && /opt/lonnymq/bin/pip install --no-cache-dir "pyspark==${SPARK%%-*}" "$(ls /dist/lonnymq-*.whl)[binary,worker,spark]"

FROM python:3.13-slim
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends procps tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --gid 0 --no-create-home --shell /usr/sbin/nologin lonnymq
COPY --from=spark /opt/java/openjdk /opt/java/openjdk
COPY --from=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/decom.sh /opt/
COPY --from=build /opt/lonnymq /opt/lonnymq
ENV JAVA_HOME=/opt/java/openjdk SPARK_HOME=/opt/spark PATH=/opt/lonnymq/bin:/opt/spark/bin:/opt/java/openjdk/bin:$PATH \
    PYSPARK_PYTHON=/opt/lonnymq/bin/python PYSPARK_DRIVER_PYTHON=/opt/lonnymq/bin/python
WORKDIR /opt/spark/work-dir
RUN chown 10001:0 /opt/spark/work-dir && chmod g+w /opt/spark/work-dir
USER 10001
ENTRYPOINT ["/opt/entrypoint.sh"]
