/* SentencePiece behind plain C functions: every call catches what is thrown and names it. */
#include "sentencepiece_shim.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

/* Exported by the library, though its installed headers do not declare it. */
namespace sentencepiece
{
namespace logging
{
void SetMinLogLevel(int level);
}
namespace random
{
std::mt19937 *GetRandomGenerator(); /* the thread's own */
}
} // namespace sentencepiece

struct rgmi_sentencepiece {
    sentencepiece::SentencePieceProcessor processor;
};

namespace
{

/** A library does not print: only what ends the process would still be heard. */
void be_quiet()
{
    sentencepiece::logging::SetMinLogLevel(3);
}

rgm_status fail_with(rgm_status code, const char *doing, const sentencepiece::util::Status &status)
{
    std::string message = status.ToString();
    /* "Internal: FILE(LINE) [CONDITION] what people can read", or nothing behind the condition */
    auto place = message.rfind("] ");
    if (place != std::string::npos &&
        message.find_first_not_of(' ', place + 1) != std::string::npos)
        message.erase(0, place + 2);
    return RGM_FAIL(code, "%s: SentencePiece: %s", doing, message.c_str());
}

rgm_status no_memory(const char *doing)
{
    return RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory in SentencePiece", doing);
}

/**
 * What a call may take is asked for before it. A failed allocation is caught below, but on its way
 * there protobuf destroys messages that it had not finished, which crashes, and the trainer's own
 * threads end the process.
 */
rgm_status have_room(const char *doing, double bytes)
{
    void *room = bytes < 1e15 ? rgm_malloc(static_cast<size_t>(bytes)) : nullptr;

    if (room == nullptr)
        return no_memory(doing);
    rgm_free(room);
    return RGM_OK;
}

/* More than twice what was measured: 4 bytes for one of a model, 170 for one of a text (a message
 * and two strings a piece), and for a character to train on 25 and 8 MB in all (unigram; bpe less).
 * Of address space the trainer's 16 threads have a stack of 8 MB each, and something to allocate.
 */
constexpr double OF_A_CALL = 32768, OF_A_MODEL_BYTE = 16, OF_A_TEXT_BYTE = 400, OF_AN_ID = 400,
                 OF_TRAINING = 16e6 + 16 * 9e6, OF_A_CHARACTER = 64;

/** Run `body`, which gives a status; what it throws becomes one. */
template <typename Body> rgm_status guarded(const char *doing, const Body &body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return no_memory(doing);
    } catch (const std::exception &e) {
        if (std::strstr(e.what(), "bad_alloc") != nullptr) /* as its Darts tells it */
            return no_memory(doing);
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: SentencePiece: %s", doing, e.what());
    } catch (...) {
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: SentencePiece failed", doing);
    }
}

/** The caller's sentences as the trainer asks for them. */
class Sentences : public sentencepiece::SentenceIterator
{
  public:
    Sentences(rgmi_next_sentence *next, void *payload) : next_(next), payload_(payload)
    {
        Next();
    }
    bool done() const override
    {
        return result_ != RGM_OK;
    }
    void Next() override
    {
        rgm_str sentence;
        result_ = next_(&sentence, payload_);
        if (result_ == RGM_OK)
            value_.assign(sentence.data, static_cast<size_t>(sentence.size));
    }
    const std::string &value() const override
    {
        return value_;
    }
    sentencepiece::util::Status status() const override
    {
        return result_ < 0 ? sentencepiece::util::Status(sentencepiece::util::StatusCode::kAborted,
                                                         "no more sentences")
                           : sentencepiece::util::Status();
    }
    rgm_status result() const
    {
        return result_;
    }

  private:
    rgmi_next_sentence *next_;
    void *payload_;
    rgm_status result_ = RGM_OK;
    std::string value_;
};

std::unordered_map<std::string, std::string> trainer_options(const rgm_tokenizer_options &o,
                                                             const char *kind)
{
    return {{"vocab_size", std::to_string(o.vocab_size)},
            {"model_type", kind},
            {"character_coverage", std::to_string(o.coverage)},
            {"input_sentence_size", std::to_string(o.sentences)},
            {"max_sentence_length", std::to_string(o.lines.max_line_bytes)},
            {"pad_id", "0"},
            {"eos_id", "1"},
            {"unk_id", "2"},
            {"bos_id", "-1"}};
}

rgm_status append(rgm_ids *ids, const std::vector<int> &pieces)
{
    RGM_TRY(
        RGM_RESERVE(ids->items, ids->capacity, ids->count + static_cast<int64_t>(pieces.size())));
    for (int id : pieces)
        ids->items[ids->count++] = id;
    return RGM_OK;
}

} // namespace

rgm_status rgmi_sentencepiece_open(rgmi_sentencepiece **out, const void *model, int64_t size,
                                   const char *name)
{
    *out = nullptr;
    return guarded(name, [&]() -> rgm_status {
        RGM_TRY(have_room(name, OF_A_CALL + OF_A_MODEL_BYTE * static_cast<double>(size)));
        be_quiet();
        auto own = std::make_unique<rgmi_sentencepiece>();
        auto status = own->processor.LoadFromSerializedProto(
            absl::string_view(static_cast<const char *>(model), static_cast<size_t>(size)));
        if (!status.ok())
            return fail_with(RGM_ERR_FORMAT, name, status);
        *out = own.release();
        return RGM_OK;
    });
}

void rgmi_sentencepiece_close(rgmi_sentencepiece *processor)
{
    delete processor;
}

int32_t rgmi_sentencepiece_size(const rgmi_sentencepiece *processor)
{
    return processor->processor.GetPieceSize();
}

int32_t rgmi_sentencepiece_pad_id(const rgmi_sentencepiece *processor)
{
    return processor->processor.pad_id();
}

int32_t rgmi_sentencepiece_unk_id(const rgmi_sentencepiece *processor)
{
    return processor->processor.unk_id();
}

int32_t rgmi_sentencepiece_bos_id(const rgmi_sentencepiece *processor)
{
    return processor->processor.bos_id();
}

int32_t rgmi_sentencepiece_eos_id(const rgmi_sentencepiece *processor)
{
    return processor->processor.eos_id();
}

const char *rgmi_sentencepiece_piece(const rgmi_sentencepiece *processor, int32_t id)
{
    return processor->processor.IdToPiece(id).c_str();
}

int32_t rgmi_sentencepiece_find(const rgmi_sentencepiece *processor, const char *piece)
{
    return processor->processor.PieceToId(piece);
}

rgm_status rgmi_sentencepiece_encode(rgm_ids *ids, const rgmi_sentencepiece *processor,
                                     const char *text, int64_t size)
{
    return guarded("encoding", [&]() -> rgm_status {
        RGM_TRY(have_room("encoding", OF_A_CALL + OF_A_TEXT_BYTE * static_cast<double>(size)));
        std::vector<int> pieces;
        auto status = processor->processor.Encode(
            absl::string_view(text, static_cast<size_t>(size)), &pieces);
        if (!status.ok())
            return fail_with(RGM_ERR_FORMAT, "encoding", status);
        return append(ids, pieces);
    });
}

rgm_status rgmi_sentencepiece_sample(rgm_ids *ids, const rgmi_sentencepiece *processor,
                                     const char *text, int64_t size, double alpha, uint64_t key)
{
    const int of_all = -1;

    return guarded("drawing a segmentation", [&]() -> rgm_status {
        RGM_TRY(have_room("drawing a segmentation",
                          OF_A_CALL + OF_A_TEXT_BYTE * static_cast<double>(size)));
        std::vector<int> pieces;
        std::seed_seq seed{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
        sentencepiece::random::GetRandomGenerator()->seed(seed);
        auto status =
            processor->processor.SampleEncode(absl::string_view(text, static_cast<size_t>(size)),
                                              of_all, static_cast<float>(alpha), &pieces);
        if (!status.ok())
            return fail_with(RGM_ERR_UNSUPPORTED, "drawing a segmentation", status);
        return append(ids, pieces);
    });
}

rgm_status rgmi_sentencepiece_encode_by(rgm_ids *ids, const rgmi_sentencepiece *processor,
                                        const char *text, int64_t size,
                                        const rgmi_segmentation *how, rgmi_piece_id *id_of,
                                        const void *payload)
{
    const int of_all = -1;

    return guarded("encoding", [&]() -> rgm_status {
        RGM_TRY(have_room("encoding", OF_A_CALL + OF_A_TEXT_BYTE * static_cast<double>(size)));
        absl::string_view view(text, static_cast<size_t>(size));
        std::vector<std::string> pieces;
        sentencepiece::util::Status status;
        if (how->alpha > 0) {
            std::seed_seq seed{static_cast<uint32_t>(how->key),
                               static_cast<uint32_t>(how->key >> 32)};
            sentencepiece::random::GetRandomGenerator()->seed(seed);
            status = processor->processor.SampleEncode(view, of_all, static_cast<float>(how->alpha),
                                                       &pieces);
        } else {
            status = processor->processor.Encode(view, &pieces);
        }
        if (!status.ok())
            return fail_with(how->alpha > 0 ? RGM_ERR_UNSUPPORTED : RGM_ERR_FORMAT, "encoding",
                             status);
        std::vector<int> found;
        for (const std::string &piece : pieces)
            found.push_back(id_of(payload, piece.c_str()));
        return append(ids, found);
    });
}

rgm_status rgmi_sentencepiece_join(rgm_text *text, const rgmi_sentencepiece *processor,
                                   const char *const *pieces, int64_t count)
{
    return guarded("decoding", [&]() -> rgm_status {
        RGM_TRY(have_room("decoding", OF_A_CALL + OF_AN_ID * static_cast<double>(count)));
        std::string decoded;
        auto status =
            processor->processor.Decode(std::vector<std::string>(pieces, pieces + count), &decoded);
        if (!status.ok())
            return fail_with(RGM_ERR_FORMAT, "decoding", status);
        return rgm_text_add(text, decoded.data(), static_cast<int64_t>(decoded.size()));
    });
}

rgm_status rgmi_sentencepiece_decode(rgm_text *text, const rgmi_sentencepiece *processor,
                                     const int32_t *ids, int64_t count)
{
    return guarded("decoding", [&]() -> rgm_status {
        RGM_TRY(have_room("decoding", OF_A_CALL + OF_AN_ID * static_cast<double>(count)));
        std::string decoded;
        auto status = processor->processor.Decode(std::vector<int>(ids, ids + count), &decoded);
        if (!status.ok())
            return fail_with(RGM_ERR_FORMAT, "decoding", status);
        return rgm_text_add(text, decoded.data(), static_cast<int64_t>(decoded.size()));
    });
}

rgm_status rgmi_sentencepiece_train_room(double characters)
{
    return have_room("training a tokenizer", OF_TRAINING + OF_A_CHARACTER * characters);
}

rgm_status rgmi_sentencepiece_train(rgm_text *model, const rgm_tokenizer_options *options,
                                    const char *kind, rgmi_next_sentence *next, void *payload)
{
    return guarded("training a tokenizer", [&]() -> rgm_status {
        std::string trained;
        be_quiet();
        Sentences sentences(next, payload);
        auto status = sentencepiece::SentencePieceTrainer::Train(trainer_options(*options, kind),
                                                                 &sentences, &trained);
        if (sentences.result() < 0)
            return sentences.result();
        if (!status.ok())
            return fail_with(RGM_ERR_DATA, "training a tokenizer", status);
        return rgm_text_add(model, trained.data(), static_cast<int64_t>(trained.size()));
    });
}
