// SPDX-License-Identifier: Apache-2.0
// A netty server whose handler drops orders it does not understand and forgets to release their buffers.
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import java.util.*;

public class OrdersNeverReleased {
    static final class OrderHandler extends ChannelInboundHandlerAdapter {
        final Deque<ByteBuf> toReview;
        OrderHandler(Deque<ByteBuf> toReview) { this.toReview = toReview; }
        @Override public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf order = (ByteBuf) message;
            if (order.readByte() == 'X') { toReview.add(order); return; }   // nobody reviews, nobody releases
            order.release();
        }
    }
    public static void main(String[] a) throws Exception {
        Deque<ByteBuf> toReview = new ArrayDeque<>();
        new ServerBootstrap().group(new NioEventLoopGroup(1), new NioEventLoopGroup(1)).channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override protected void initChannel(SocketChannel c) {
                    c.pipeline().addLast(new LengthFieldBasedFrameDecoder(1 << 20, 0, 4, 0, 4), new OrderHandler(toReview));
                }
            }).bind("127.0.0.1", Integer.parseInt(a[0])).sync().channel().closeFuture().sync();
    }
}
