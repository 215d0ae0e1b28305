package org.harnesslearning.llm.engine;

/** Chooses among the native libraries on the class path, before any of them is loaded. */
final class Natives {

    private static final String EXTENSION = "org.bytedeco.javacpp.platform.extension";
    private static final String FOR_GPUS = "/org/bytedeco/onnxruntime/linux-x86_64-gpu/libjnionnxruntime.so";

    private Natives() {}

    /** Takes the libraries for GPUs where they are there: they serve processors too. */
    static void choose() {
        if (System.getProperty(EXTENSION) == null && Natives.class.getResource(FOR_GPUS) != null) {
            System.setProperty(EXTENSION, "-gpu");
        }
    }
}
