// SPDX-License-Identifier: Apache-2.0

package peer;

import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Resets a group by time, as mqadmin resetOffsetByTime does, when its standard input ends, and prints
 * the new positions.
 */
final class Reset {
    static void run(String namesrv, String topic, String group, long timestamp) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt();
        admin.setInstanceName("reset");
        admin.setNamesrvAddr(namesrv);
        admin.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        try {
            Map<MessageQueue, Long> offsets = new TreeMap<>(admin.resetOffsetByTimestamp(topic, group, timestamp, true));
            for (Map.Entry<MessageQueue, Long> e : offsets.entrySet()) {
                System.out.println(e.getKey().getQueueId() + " " + e.getValue());
            }
        } finally {
            admin.shutdown();
        }
        System.exit(0);
    }
}
