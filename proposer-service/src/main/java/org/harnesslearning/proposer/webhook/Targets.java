package org.harnesslearning.proposer.webhook;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import okhttp3.Dns;
import okhttp3.HttpUrl;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/**
 * Which receivers may be called. A webhook must not become a way into the platform's own network, so only public
 * addresses are connected to, unless the operator listed the host. The addresses are judged when the connection is made,
 * by the same look-up that it uses: a name that points elsewhere later on gains nothing.
 */
@Component
class Targets {
    private final WebhookSettings settings;

    Targets(WebhookSettings settings) {
        this.settings = settings;
    }

    /** Why a URL can't be a receiver; null when it can, as far as its text tells. */
    @Nullable
    String fault(String text) {
        HttpUrl url = HttpUrl.parse(text);
        if (url == null) {
            return "is no http or https URL";
        }
        if (!url.username().isEmpty() || !url.password().isEmpty()) {
            return "must not have a user or password";
        }
        if (url.fragment() != null) {
            return "must not have a fragment";
        }
        if (allowed(url)) {
            return null;
        }
        if (!url.isHttps()) {
            return "must be https; the operator may allow its host in proposer.webhooks.allowed-hosts";
        }
        return literal(url.host()) && refused(url.host())
                ? "points to an address that is not public; the operator may allow it in proposer.webhooks.allowed-hosts"
                : null;
    }

    /** Looks up only addresses that the host of this URL may have. */
    Dns dns(HttpUrl url) {
        boolean allowed = allowed(url);
        return host -> {
            List<InetAddress> found = Dns.SYSTEM.lookup(host);
            List<InetAddress> usable =
                    allowed ? found : found.stream().filter(Targets::isPublic).toList();
            if (usable.isEmpty()) {
                throw new UnknownHostException(host + " has no public address");
            }
            return usable;
        };
    }

    private boolean allowed(HttpUrl url) {
        return settings.allowedHosts().contains(url.host())
                || settings.allowedHosts().contains(url.host() + ":" + url.port());
    }

    private static boolean literal(String host) {
        return host.indexOf(':') >= 0 || host.matches("[0-9.]+");
    }

    private static boolean refused(String literal) {
        try {
            return !isPublic(InetAddress.getByName(literal));
        } catch (UnknownHostException e) {
            return true;
        }
    }

    /** Whether an address is of the public internet, by the special-purpose registries of RFC 6890. */
    static boolean isPublic(InetAddress address) {
        if (address.isAnyLocalAddress()
                || address.isLoopbackAddress()
                || address.isLinkLocalAddress()
                || address.isSiteLocalAddress()
                || address.isMulticastAddress()) {
            return false;
        }
        byte[] bytes = address.getAddress();
        if (address instanceof Inet6Address) {
            return isPublic6(bytes);
        }
        int a = bytes[0] & 255;
        int b = bytes[1] & 255;
        int c = bytes[2] & 255;
        return a != 0
                && a < 224
                && !(a == 100 && b >= 64 && b < 128)
                && !(a == 192 && b == 0 && (c == 0 || c == 2))
                && !(a == 192 && b == 88 && c == 99)
                && !(a == 198 && (b == 18 || b == 19))
                && !(a == 198 && b == 51 && c == 100)
                && !(a == 203 && b == 0 && c == 113);
    }

    /** Global unicast is 2000::/3, without the parts that carry IPv4 addresses or are for documentation. */
    private static boolean isPublic6(byte[] bytes) {
        int first = (bytes[0] & 255) << 8 | (bytes[1] & 255);
        int second = (bytes[2] & 255) << 8 | (bytes[3] & 255);
        boolean global = (first & 0xE000) == 0x2000;
        boolean special = first == 0x2002
                || (first == 0x2001 && (second < 0x0200 || second == 0x0DB8))
                || (first == 0x3FFF && second < 0x1000)
                || Arrays.equals(bytes, new byte[16]);
        return global && !special;
    }
}
