import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A tool: prices of a shop's articles, over HTTP with a token. Needs nothing but a JDK:
 *
 *   java examples/tool-agent/ToolServer.java PORT TOKEN_FILE [ADDRESS]
 *
 * POST {"article": "lamp"} answers {"article": "lamp", "cents": 1990}, or 404 with the reason for an article that it does not
 * have. It keeps nothing between two calls, as a tool of a harness must not.
 */
public class ToolServer {
    private static final Map<String, Integer> CENTS =
            Map.of("lamp", 1990, "chair", 4550, "desk", 18900, "mug", 695, "rug", 5210);

    private static final Pattern ARTICLE = Pattern.compile("\\{\\s*\"article\"\\s*:\\s*\"([a-z]{1,40})\"\\s*\\}");

    public static void main(String[] arguments) throws IOException {
        String token = Files.readString(Path.of(arguments[1])).strip();
        InetAddress address = arguments.length > 2
                ? InetAddress.getByName(arguments[2])
                : InetAddress.getLoopbackAddress();
        HttpServer server = HttpServer.create(new InetSocketAddress(address, Integer.parseInt(arguments[0])), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/price", exchange -> {
            try (exchange) {
                price(exchange, token);
            }
        });
        server.start();
        System.out.println("prices at http://" + address.getHostAddress() + ":" + server.getAddress().getPort() + "/price");
    }

    private static void price(HttpExchange exchange, String token) throws IOException {
        if (!token.equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
            answer(exchange, 401, "{\"error\": \"no valid token\"}");
            return;
        }
        String body = new String(exchange.getRequestBody().readNBytes(4096), StandardCharsets.UTF_8);
        Matcher matcher = ARTICLE.matcher(body);
        if (!exchange.getRequestMethod().equals("POST") || !matcher.matches()) {
            answer(exchange, 400, "{\"error\": \"send {\\\"article\\\": NAME}\"}");
            return;
        }
        String article = matcher.group(1);
        Integer cents = CENTS.get(article);
        if (cents == null) {
            answer(exchange, 404, "{\"error\": \"no article " + article + "; names are in the singular\"}");
        } else {
            answer(exchange, 200, "{\"article\": \"" + article + "\", \"cents\": " + cents + "}");
        }
    }

    private static void answer(HttpExchange exchange, int status, String json) throws IOException {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }
}
