// SPDX-License-Identifier: Apache-2.0

package peer;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * The consumers that ask for messages themselves. Each reads a topic to its end, commits, and prints
 * "message QUEUE OFFSET" for what it reads and "committed QUEUE OFFSET" at the end.
 */
final class Pull {
    private static final long PATIENCE = 60_000;

    static void run(String namesrv, String mode, String topic, String group, int messages) throws Exception {
        switch (mode) {
            case "subscribe":
            case "assign":
                lite(namesrv, mode, topic, group, messages);
                break;
            case "pull":
                pull(namesrv, topic, group, messages);
                break;
            default:
                throw new IllegalArgumentException(mode);
        }
        System.exit(0);
    }

    private static void lite(String namesrv, String mode, String topic, String group, int messages) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(mode);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        if (mode.equals("subscribe")) {
            consumer.subscribe(topic, "*");
        }
        consumer.start();
        List<MessageQueue> queues = sorted(consumer.fetchMessageQueues(topic));
        if (mode.equals("assign")) {
            consumer.assign(queues); // without seeks: the client takes a pull that is under way for one after them
        }
        read(consumer, messages);
        System.out.println("all");
        consumer.commit();
        if (mode.equals("assign")) { // again from the last message of the first queue on, and nothing else
            MessageQueue first = queues.get(0);
            long last = consumer.committed(first) - 1;
            consumer.seek(first, last);
            read(consumer, 1);
            System.out.println("again");
            consumer.pause(Collections.singletonList(first));
            consumer.seekToBegin(queues.get(1)); // of the paused one nothing comes
            read(consumer, 1);
            System.out.println("begin");
            consumer.seekToEnd(queues.get(1));
            consumer.resume(Collections.singletonList(first));
        }
        for (MessageQueue q : queues) {
            System.out.println("committed " + q.getQueueId() + " " + consumer.committed(q));
        }
        consumer.shutdown();
    }

    private static void read(DefaultLitePullConsumer consumer, int messages) {
        long until = System.currentTimeMillis() + PATIENCE;
        for (int n = 0; n < messages && System.currentTimeMillis() < until;) {
            for (MessageExt m : consumer.poll(1_000)) {
                print(m);
                n++;
            }
        }
    }

    private static void pull(String namesrv, String topic, String group, int messages) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("pull");
        consumer.start();
        List<MessageQueue> queues = sorted(consumer.fetchSubscribeMessageQueues(topic));
        for (MessageQueue q : queues) {
            long offset = consumer.minOffset(q);
            for (PullStatus status = PullStatus.FOUND; status == PullStatus.FOUND;) {
                PullResult result = consumer.pull(q, "*", offset, 16);
                status = result.getPullStatus();
                if (status == PullStatus.FOUND) {
                    result.getMsgFoundList().forEach(Pull::print);
                    offset = result.getNextBeginOffset();
                }
            }
            consumer.updateConsumeOffset(q, offset);
            consumer.getOffsetStore().persist(q);
        }
        System.out.println("all");
        for (MessageQueue q : queues) {
            System.out.println("committed " + q.getQueueId() + " " + consumer.fetchConsumeOffset(q, true));
        }
        consumer.shutdown();
    }

    private static void print(MessageExt m) {
        System.out.println("message " + m.getQueueId() + " " + m.getQueueOffset());
    }

    private static List<MessageQueue> sorted(Collection<MessageQueue> queues) {
        List<MessageQueue> list = new ArrayList<>(queues);
        list.sort(Comparator.comparingInt(MessageQueue::getQueueId));
        return list;
    }
}
