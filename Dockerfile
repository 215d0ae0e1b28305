# One service of the platform: a Java runtime of its own (jlink), the libraries that all services share, its own ones, and
# the modules. docker/images.sh puts all of it beside this file from the reactor's output: nothing is fetched here.
# The layers go from what changes rarely to what changes with every build, and the first three are the same for all
# services.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
COPY runtime /opt/java
COPY shared /app/lib
COPY health /app/health
ARG SERVICE
COPY own /app/lib
COPY modules /app/lib
COPY java.args /app/java.args
ARG PORT
# Libraries unpack their natives below the temporary folder, the only one that can be written.
ENV PATH=/opt/java/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 HOME=/tmp HARNESS_CACHE=/tmp/harness \
  SERVER_PORT=${PORT} SPRING_CONFIG_IMPORT=optional:configtree:/run/secrets/
LABEL org.harnesslearning.image=service org.harnesslearning.service=${SERVICE}
WORKDIR /tmp
USER 10001:10001
EXPOSE ${PORT}
# Bash only. Whoever waits for this service waits for its first healthy answer.
HEALTHCHECK --interval=5s --timeout=10s --retries=6 --start-period=300s CMD ["/app/health"]
STOPSIGNAL SIGTERM
# Java is process 1 and gets the signal itself: it takes no new calls, finishes the running ones, and ends.
ENTRYPOINT ["/opt/java/bin/java", "@/app/java.args"]
