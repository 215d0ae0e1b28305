package org.harnesslearning.trainer.distributed;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.Backend;
import org.bytedeco.pytorch.BroadcastOptions;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.nccl.ProcessGroupNCCL;

/** A process group of PyTorch's distributed engine. */
@SuppressWarnings("try") // scopes free what is made inside
final class NativeGroup implements ProcessGroup {
    private static final long MIB = 1L << 20;

    private final Rendezvous rendezvous;
    private final ProcessGroupBackend kind;
    private final boolean sole;
    private final Backend backend;
    private final Runnable alarm = this::abort;
    private boolean closed;

    /**
     * Joins; returns once all ranks have.
     *
     * @param prefix names the group in the store
     * @param sole whether the rendezvous ends with this group
     */
    NativeGroup(Rendezvous rendezvous, String prefix, ProcessGroupBackend kind, boolean sole) {
        this.rendezvous = rendezvous;
        this.kind = kind;
        this.sole = sole;
        RankEnvironment place = rendezvous.place();
        try (PointerScope scope = new PointerScope()) {
            // Stores that Java makes have no owner that native objects could share; their clones have.
            Store connection = rendezvous.store().clone();
            Store store = new PrefixStore(prefix, connection).clone();
            Milliseconds timeout =
                    new Milliseconds(rendezvous.settings().stepTimeout().toMillis());
            backend = switch (kind) {
                case GLOO -> gloo(store, place, timeout);
                case NCCL -> nccl(store, place, timeout);
            };
            backend.retainReference();
        } catch (RuntimeException e) {
            throw failed("joining the group", e);
        }
        rendezvous.onLost(alarm);
    }

    private static Backend gloo(Store store, RankEnvironment place, Milliseconds timeout) {
        ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create(timeout);
        // On one host the loopback device always works, whatever the host calls itself.
        options.devices(new GlooDeviceVector(
                loopback(place.masterAddress())
                        ? ProcessGroupGloo.createDeviceForHostname(place.masterAddress())
                        : ProcessGroupGloo.createDefaultDevice()));
        return new ProcessGroupGloo(store, place.rank(), place.size(), options);
    }

    private static Backend nccl(Store store, RankEnvironment place, Milliseconds timeout) {
        // A failed collective is to become an exception here; by default the library ends the process.
        Natives.setVariable("TORCH_NCCL_BLOCKING_WAIT", "1");
        ProcessGroupNCCL.Options options = ProcessGroupNCCL.Options.create();
        options.timeout(timeout);
        return new ProcessGroupNCCL(store, place.rank(), place.size(), options);
    }

    private static boolean loopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }

    @Override
    public int rank() {
        return rendezvous.place().rank();
    }

    @Override
    public int size() {
        return rendezvous.place().size();
    }

    @Override
    public void sum(List<Tensor> inPlace) {
        buckets(inPlace, "summing tensors", backend::allreduce);
    }

    @Override
    public void broadcast(List<Tensor> inPlace, int root) {
        buckets(inPlace, "passing tensors", tensors -> {
            BroadcastOptions options = new BroadcastOptions();
            options.rootRank(root);
            options.rootTensor(0);
            return backend.broadcast(tensors, options);
        });
    }

    /** Packs tensors of one type into few large ones: each call costs a round trip between the ranks. */
    private void buckets(List<Tensor> tensors, String what, Function<TensorVector, Work> call) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Map<String, List<Tensor>> byType = new LinkedHashMap<>();
            for (Tensor tensor : tensors) {
                String type = tensor.scalar_type() + " " + tensor.device().str().getString();
                byType.computeIfAbsent(type, t -> new ArrayList<>()).add(tensor);
            }
            long most = rendezvous.settings().bucketMib() * MIB;
            for (List<Tensor> same : byType.values()) {
                int begin = 0;
                long bytes = 0;
                for (int i = 0; i < same.size(); i++) {
                    bytes += same.get(i).nbytes();
                    if (bytes >= most || i == same.size() - 1) {
                        bucket(same.subList(begin, i + 1), call);
                        begin = i + 1;
                        bytes = 0;
                    }
                }
            }
        } catch (RuntimeException e) {
            throw failed(what, e);
        }
    }

    private static void bucket(List<Tensor> tensors, Function<TensorVector, Work> call) {
        try (PointerScope scope = new PointerScope()) {
            TensorVector flat = new TensorVector(tensors.size());
            for (int i = 0; i < tensors.size(); i++) {
                flat.put(i, tensors.get(i).reshape(-1));
            }
            Tensor packed = tensors.size() == 1 ? flat.get(0).clone() : torch.cat(flat);
            finish(call.apply(new TensorVector(packed)));
            long offset = 0;
            for (Tensor tensor : tensors) {
                long count = tensor.numel();
                tensor.copy_(packed.narrow(0, offset, count).view(tensor.sizes()));
                offset += count;
            }
        }
    }

    private static void finish(Work work) {
        if (!work._wait()) {
            throw new IllegalStateException("the call did not finish");
        }
    }

    @Override
    public long[] gather(long value) {
        try (PointerScope scope = new PointerScope()) {
            // A sum over vectors of which each rank fills its own place: integers, so nothing is rounded.
            long[] own = new long[size()];
            own[rank()] = value;
            Tensor all = Tensors.of(own, kind, rendezvous.place());
            sum(List.of(all));
            return Tensors.values(all);
        }
    }

    @Override
    public byte[] broadcast(byte[] bytes, int root) {
        try (PointerScope scope = new PointerScope()) {
            Tensor packed = Tensors.of(Tensors.pack(bytes), kind, rendezvous.place());
            broadcast(List.of(packed), root);
            return Tensors.unpack(Tensors.values(packed), bytes.length);
        }
    }

    @Override
    public void barrier() {
        // A sum waits for all ranks with either backend.
        gather(0);
    }

    private void abort() {
        synchronized (this) {
            if (closed || kind != ProcessGroupBackend.NCCL) {
                // Gloo sees a closed connection by itself, and ends a silent one after the step's time-out.
                return;
            }
        }
        try {
            backend.abort();
        } catch (RuntimeException e) {
            // The waiting call ends by its time-out.
        }
    }

    private DistributedException failed(String what, RuntimeException e) {
        if (e instanceof DistributedException distributed) {
            return distributed;
        }
        String lost = rendezvous.explain();
        String who = lost == null ? "another rank failed or did not answer in time" : lost;
        return new DistributedException(
                "rank " + rendezvous.place().rank() + " stopped while " + what + ": " + who + " ("
                        + Natives.firstLine(e) + ")",
                e);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        rendezvous.forget(alarm);
        backend.releaseReference();
        if (sole) {
            rendezvous.close();
        }
    }
}
