// SPDX-License-Identifier: Apache-2.0

package peer;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/** Decodes stored records with the client's decoder and prints a line for each. */
final class Decode {
    static void run(String file) throws Exception {
        ByteBuffer records = ByteBuffer.wrap(Files.readAllBytes(Paths.get(file)));
        while (records.hasRemaining()) {
            int at = records.position();
            MessageExt m = MessageDecoder.decode(records, true, true, false);
            if (m == null) {
                throw new IllegalStateException("no record at " + at);
            }
            Map<String, String> properties = new TreeMap<>(m.getProperties());
            StringBuilder text = new StringBuilder();
            properties.forEach((k, v) -> text.append(k).append('=').append(v).append(';'));
            System.out.println(String.join("\t",
                m.getTopic(), String.valueOf(m.getQueueId()), String.valueOf(m.getQueueOffset()),
                String.valueOf(m.getCommitLogOffset()), String.valueOf(m.getStoreSize()), String.valueOf(m.getFlag()),
                String.valueOf(m.getSysFlag()), String.valueOf(m.getBornTimestamp()), String.valueOf(m.getStoreTimestamp()),
                host(m.getBornHost()), host(m.getStoreHost()), String.valueOf(m.getReconsumeTimes()),
                m.getMsgId(), text.toString(), hex(m.getBody())));
        }
    }

    private static String host(java.net.SocketAddress a) {
        java.net.InetSocketAddress i = (java.net.InetSocketAddress) a;
        return i.getAddress().getHostAddress() + ":" + i.getPort();
    }

    private static String hex(byte[] body) {
        StringBuilder s = new StringBuilder();
        for (byte b : body) {
            s.append(String.format("%02x", b));
        }
        return s.toString();
    }

    private Decode() {
    }
}
