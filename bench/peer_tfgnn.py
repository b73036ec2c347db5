"""Peer of runner.c: TF-GNN's own runner.run() on the same records, by the protocol of regimen_bench ("go 10"
on standard input). Same model (VanillaMPNN, two rounds of 64 units and 128 messages, mean), batches,
optimizer and label. The runner trains for ever; between two commands a callback keeps it waiting, while
its input pipeline may go on filling its buffers.

usage: peer_tfgnn.py runner --data FILE     FILE.pbtxt is the schema
"""
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
import tensorflow_gnn as tfgnn  # noqa: E402
from tensorflow_gnn import runner  # noqa: E402
from tensorflow_gnn.models import vanilla_mpnn  # noqa: E402

import peer  # noqa: E402

STEPS, BATCH, CLASSES, UNITS, MESSAGES, RATE = 10, 128, 40, 64, 128, 1e-3


class Turns(tf.keras.callbacks.Callback):
    """Lets STEPS batches of training go for each step that is asked for."""

    def __init__(self):
        super().__init__()
        self.turns, self.left, self.asked = peer.turns("runner", version=tf.__version__), 0, 0

    def on_train_batch_begin(self, batch, logs=None):
        if self.left == 0:
            self.asked = next(self.turns, None)
            if self.asked is None:
                os._exit(0)  # the runner knows no other way out of its epoch
            self.left, self.begin = self.asked * STEPS, time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            peer.tell(time.perf_counter() - self.begin, self.asked)


def model_fn(spec):
    graph = inputs = tf.keras.Input(type_spec=spec)
    graph = tfgnn.keras.layers.MapFeatures(
        node_sets_fn=lambda node_set, node_set_name: tf.keras.layers.Dense(UNITS, "relu")(node_set["feat"])
        if node_set_name == "nodes" else tfgnn.keras.layers.MakeEmptyFeature()(node_set))(graph)
    for _ in range(2):
        graph = vanilla_mpnn.VanillaMPNNGraphUpdate(
            units=UNITS, message_dim=MESSAGES, receiver_tag=tfgnn.SOURCE, reduce_type="mean",
            node_set_names={"nodes"})(graph)
    return tf.keras.Model(inputs, graph)


def main():
    path = sys.argv[sys.argv.index("--data") + 1]
    spec = tfgnn.create_graph_spec_from_schema_pb(tfgnn.read_schema(path + ".pbtxt"))
    with tempfile.TemporaryDirectory() as folder:
        runner.run(
            train_ds_provider=runner.TFRecordDatasetProvider(filenames=[path]),
            model_fn=model_fn, optimizer_fn=lambda: tf.keras.optimizers.Adam(RATE),
            trainer=runner.KerasTrainer(tf.distribute.get_strategy(), model_dir=folder, verbose=0,
                                        steps_per_epoch=2**31, summarize_every_n_steps="never",
                                        checkpoint_every_n_steps="never", backup_and_restore=False,
                                        callbacks=[Turns()]),
            task=runner.RootNodeMulticlassClassification("nodes", num_classes=CLASSES,
                                                         label_feature_name="label"),
            gtspec=spec, global_batch_size=BATCH)


main()
