// SPDX-License-Identifier: Apache-2.0

package peer;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer that reports each handler call; it ends when its standard input does. */
final class Consume {
    static void run(String namesrv, boolean orderly, String topic, String group, String name, String recorder) throws Exception {
        Link link = new Link(recorder, name);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(name);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAwaitTerminationMillisWhenShutdown(10_000);
        consumer.subscribe(topic, "*");
        if (orderly) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                handle(link, messages) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                handle(link, messages) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        consumer.shutdown();
        System.out.println("ended");
        System.exit(0);
    }

    private static boolean handle(Link link, List<MessageExt> messages) {
        for (MessageExt m : messages) {
            if (!link.handle(m)) {
                return false;
            }
        }
        return true;
    }
}
