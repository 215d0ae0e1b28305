package org.harnesslearning.solver.inference;

import java.nio.channels.SocketChannel;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/** Tomcat's HTTP connector, with its sockets within reach. Named in the configuration of the web server. */
public final class WatchedNioProtocol extends Http11NioProtocol {
    /** The socket of a connection from {@code remotePort}, if it is still open. */
    @Nullable
    SocketChannel socketFrom(String remoteAddress, int remotePort) {
        for (SocketWrapperBase<NioChannel> connection : getEndpoint().getConnections()) {
            NioChannel channel = connection.getSocket();
            if (channel != null
                    && connection.getRemotePort() == remotePort
                    && remoteAddress.equals(connection.getRemoteAddr())) {
                return channel.getIOChannel();
            }
        }
        return null;
    }
}
