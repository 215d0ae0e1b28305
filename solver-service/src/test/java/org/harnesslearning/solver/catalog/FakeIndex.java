package org.harnesslearning.solver.catalog;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** A package index on loopback that can cut, corrupt and refuse. */
final class FakeIndex implements AutoCloseable {
    private final HttpServer server;
    private final Map<String, byte[]> files = Collections.synchronizedMap(new TreeMap<>());
    private final Map<String, String> pages = Collections.synchronizedMap(new TreeMap<>());
    final List<String> requests = Collections.synchronizedList(new ArrayList<>());
    /** Bytes after which the next file answers are cut, one entry an answer. */
    final List<Integer> cuts = Collections.synchronizedList(new ArrayList<>());

    boolean html;
    String wrongHashOf = "";

    FakeIndex() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/simple/", this::page);
        server.createContext("/files/", this::file);
        server.start();
    }

    URI simple() {
        return base().resolve("/simple/");
    }

    URI base() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    }

    /** Publishes a wheel with one data file. */
    void publish(String project, String version, String member, byte[] data) throws IOException {
        ByteArrayOutputStream zip = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(zip)) {
            out.putNextEntry(new ZipEntry("setup_would_run.py"));
            out.write("raise SystemExit('executed')".getBytes(StandardCharsets.UTF_8));
            out.putNextEntry(new ZipEntry(member));
            out.write(data);
        }
        String wheel = project.replace('-', '_') + "-" + version + "-py3-none-any.whl";
        files.put(wheel, zip.toByteArray());
        pages.put(project, wheel);
    }

    void put(String name, byte[] data) {
        files.put(name, data);
    }

    private void page(HttpExchange exchange) throws IOException {
        String project =
                exchange.getRequestURI().getPath().replace("/simple/", "").replace("/", "");
        requests.add("page " + project);
        String wheel = pages.get(project);
        if (wheel == null) {
            exchange.sendResponseHeaders(404, -1);
            exchange.close();
            return;
        }
        String hash = wheel.equals(wrongHashOf) ? "0".repeat(64) : sha256(files.get(wheel));
        int size = files.get(wheel).length;
        String body = html
                ? "<html><body><a href=\"../../files/%s#sha256=%s\">%s</a></body></html>".formatted(wheel, hash, wheel)
                : """
                {"meta": {"api-version": "1.0"}, "name": "x", "files": [
                 {"filename": "other-9.9-py3-none-any.whl", "url": "/files/none", "hashes": {"sha256": "%s"}},
                 {"filename": "%s", "url": "../../files/%s", "hashes": {"sha256": "%s"}, "size": %d}]}""".formatted("1".repeat(64), wheel, wheel, hash, size);
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    private void file(HttpExchange exchange) throws IOException {
        String name = exchange.getRequestURI().getPath().replace("/files/", "");
        String range = exchange.getRequestHeaders().getFirst("Range");
        requests.add("file " + name + (range == null ? "" : " " + range));
        byte[] data = files.get(name);
        if (data == null) {
            exchange.sendResponseHeaders(404, -1);
            exchange.close();
            return;
        }
        int from = range == null ? 0 : Integer.parseInt(range.replaceAll("bytes=(\\d+)-.*", "$1"));
        int length = data.length - from;
        exchange.sendResponseHeaders(range == null ? 200 : 206, length);
        OutputStream out = exchange.getResponseBody();
        Integer cut = cuts.isEmpty() ? null : cuts.removeFirst();
        try {
            out.write(data, from, cut == null ? length : Math.min(cut, length));
            out.flush();
        } finally {
            exchange.close();
        }
    }

    static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
