package org.harnesslearning.solver.catalog;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * HTTP GET as pip does it: the certificates of {@code PIP_CERT} or {@code SSL_CERT_FILE} where set, the proxy of {@code
 * HTTPS_PROXY} and {@code HTTP_PROXY}, credentials in the URL, and a time-out on silence rather than on length.
 */
final class Network {
    private static final int MAX_REDIRECTS = 8;

    private final Map<String, String> environment;
    private final @Nullable SSLSocketFactory sockets;
    private final Duration connectTimeout;
    private final Duration silence;

    Network(Map<String, String> environment, @Nullable String certificates, Duration connectTimeout, Duration silence) {
        this.environment = Map.copyOf(environment);
        this.connectTimeout = connectTimeout;
        this.silence = silence;
        String bundle = certificates;
        for (String variable : new String[] {"SSL_CERT_FILE", "PIP_CERT"}) {
            String value = environment.get(variable);
            if (value != null && !value.isBlank()) {
                bundle = value;
            }
        }
        this.sockets = bundle == null || !Files.isRegularFile(Path.of(bundle)) ? null : trusting(Path.of(bundle));
    }

    /** An answer; the body is closed by the caller. */
    record Answer(int status, InputStream body, Map<String, String> headers) implements AutoCloseable {
        @Nullable
        String header(String name) {
            return headers.get(name.toLowerCase(Locale.ROOT));
        }

        @Override
        public void close() throws IOException {
            body.close();
        }
    }

    /** Follows redirects; an answer of 400 and above is returned like any other. */
    Answer get(URI uri, Map<String, String> headers, boolean follow) throws IOException {
        URI at = uri;
        for (int i = 0; i <= MAX_REDIRECTS; i++) {
            HttpURLConnection connection = (HttpURLConnection) at.toURL().openConnection(proxy(at));
            if (connection instanceof HttpsURLConnection secure && sockets != null) {
                secure.setSSLSocketFactory(sockets);
            }
            connection.setInstanceFollowRedirects(false);
            connection.setConnectTimeout(Math.toIntExact(connectTimeout.toMillis()));
            connection.setReadTimeout(Math.toIntExact(silence.toMillis()));
            connection.setRequestProperty("User-Agent", "harness-learning");
            headers.forEach(connection::setRequestProperty);
            // Credentials go to the host that they were given for only.
            if (at.getUserInfo() != null) {
                String token =
                        Base64.getEncoder().encodeToString(at.getUserInfo().getBytes(StandardCharsets.UTF_8));
                connection.setRequestProperty("Authorization", "Basic " + token);
            }
            int status = connection.getResponseCode();
            String location = connection.getHeaderField("Location");
            if (follow && status >= 300 && status < 400 && status != 304 && location != null) {
                connection.disconnect();
                at = at.resolve(location);
                continue;
            }
            InputStream body = status >= 400 ? connection.getErrorStream() : connection.getInputStream();
            Map<String, String> received = new java.util.HashMap<>();
            connection.getHeaderFields().forEach((name, values) -> {
                if (name != null) {
                    received.put(name.toLowerCase(Locale.ROOT), values.getLast());
                }
            });
            return new Answer(status, body == null ? InputStream.nullInputStream() : body, received);
        }
        throw new IOException("too many redirects from " + uri.getHost());
    }

    private Proxy proxy(URI uri) {
        String variable = uri.getScheme() + "_proxy";
        String value =
                environment.getOrDefault(variable, environment.getOrDefault(variable.toUpperCase(Locale.ROOT), ""));
        String excluded = environment.getOrDefault("no_proxy", environment.getOrDefault("NO_PROXY", ""));
        String host = uri.getHost();
        for (String suffix : excluded.split(",")) {
            String plain = suffix.strip();
            if (!plain.isEmpty()
                    && (plain.equals("*")
                            || host.equals(plain)
                            || host.endsWith(plain.startsWith(".") ? plain : "." + plain))) {
                return Proxy.NO_PROXY;
            }
        }
        if (value.isBlank() || host.equals("localhost") || host.startsWith("127.")) {
            return Proxy.NO_PROXY;
        }
        URI proxy = URI.create(value.contains("://") ? value : "http://" + value);
        return new Proxy(
                Proxy.Type.HTTP, new InetSocketAddress(proxy.getHost(), proxy.getPort() < 0 ? 80 : proxy.getPort()));
    }

    private static SSLSocketFactory trusting(Path bundle) {
        try (InputStream in = Files.newInputStream(bundle)) {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int count = 0;
            for (Certificate certificate :
                    CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                store.setCertificateEntry("ca" + count++, certificate);
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context.getSocketFactory();
        } catch (IOException | GeneralSecurityException e) {
            throw new FetchException("the certificates of " + bundle + " cannot be read: " + e.getMessage(), e);
        }
    }
}
