/* SPDX-License-Identifier: BSD-3-Clause */
/** \file equipoise.hpp
 * \brief The C interface for C++17: objects that free themselves, views of arrays, exceptions.
 *
 * Only functions that C++ makes shorter are wrapped. Call all other functions from the C headers, with
 * equipoise::check() around the call and the `get()` of a handle. The C function of the same name documents purpose,
 * cost, and whether a call is collective.
 *
 * A code that is not EQP_OK becomes an equipoise::error. Collective calls fail on all ranks or on none: if an argument
 * is wrong on one rank, or a callback of a problem throws there, that rank throws its exception at the end of the call,
 * and the other ranks throw an equipoise::error with the same message. */
#ifndef EQUIPOISE_EQUIPOISE_HPP
#define EQUIPOISE_EQUIPOISE_HPP

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "equipoise.hpp needs C++17"
#endif

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/kdtree.h>
#include <equipoise/more/whatif.h>
#include <equipoise/points.h>
#include <equipoise/units.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace equipoise
{

/** A code of <equipoise/error.h> with its text, or with the message of the function that failed. */
class error : public std::runtime_error
{
  public:
    explicit error(int code, const std::string &text = {})
        : std::runtime_error(text.empty() ? eqp_error_text(code) : text), m_code(code)
    {
    }

    /** One of the EQP_ERR_... */
    int code() const noexcept
    {
        return m_code;
    }

  private:
    int m_code;
};

/** Throws an error unless the code is EQP_OK. */
inline void check(int code)
{
    if (code != EQP_OK) {
        throw error(code);
    }
}

/** As check(code), with the message of the call. */
inline void check(int code, const eqp_message &message)
{
    if (code != EQP_OK) {
        throw error(code, message.text);
    }
}

namespace detail
{

/** A collective call: an exception of this rank is thrown only after all ranks know of it. */
class collective
{
  public:
    explicit collective(MPI_Comm comm) noexcept : m_comm(comm)
    {
    }
    /** Prepares arguments; keeps an exception for the end of the call. */
    template <class Prepare> void prepare(Prepare prepare) noexcept
    {
        try {
            prepare();
        } catch (...) {
            throws(std::current_exception());
        }
    }

    /** Checks an argument; the text names it. */
    void expect(bool holds, const char *text) noexcept
    {
        prepare([&] {
            if (!holds) {
                throw error(EQP_ERR_ARGUMENT, text);
            }
        });
    }

    /** Keeps the first of several exceptions. */
    void throws(std::exception_ptr thrown) noexcept
    {
        m_thrown = m_thrown ? m_thrown : std::move(thrown);
    }

    /** An argument for the C function: NULL after an exception, so that the call fails on all ranks. */
    template <class T> T *given(T *argument) const noexcept
    {
        return m_thrown ? nullptr : argument;
    }

    /** Ends the call with the same outcome on all ranks. code: the result of the C function, the same on all ranks.
     * called: true on all ranks if it called functions of the problem; a function without a return code may have
     * thrown. */
    void end(int code, eqp_message message = {""}, bool called = false) const
    {
        int told = code == EQP_OK ? EQP_OK : EQP_ERR_REMOTE, agreed = code;

        if (m_thrown) {
            told = read(code != EQP_OK ? code : EQP_ERR_INTERNAL, &message);
        }
        if (code != EQP_ERR_MPI && (code != EQP_OK || called)) {
            agreed = eqp_agree(m_comm, told, &message);
        }
        if (m_thrown) {
            std::rethrow_exception(m_thrown);
        }
        check(agreed == EQP_ERR_REMOTE ? code : agreed, message);
    }

  private:
    /* The message and the code of the exception. */
    int read(int other, eqp_message *message) const noexcept
    {
        int rank = -1, code = other;

        (void)MPI_Comm_rank(m_comm, &rank);
        try {
            std::rethrow_exception(m_thrown);
        } catch (const error &e) {
            code = e.code() < 0 ? e.code() : other;
            eqp_message_set(message, "rank %d: %s", rank, e.what());
        } catch (const std::bad_alloc &) {
            code = EQP_ERR_MEMORY;
            eqp_message_set(message, "rank %d: %s", rank, eqp_error_text(code));
        } catch (const std::exception &e) {
            eqp_message_set(message, "rank %d: %s", rank, e.what());
        } catch (...) {
            eqp_message_set(message, "rank %d: an exception", rank);
        }
        return code;
    }

    MPI_Comm m_comm;
    std::exception_ptr m_thrown;
};

} // namespace detail

namespace detail
{

/** Iterators and elements of an array, from its data() and size(). */
template <class Array, class T> class range
{
  public:
    constexpr bool empty() const noexcept
    {
        return self().size() == 0;
    }
    constexpr T *begin() const noexcept
    {
        return self().data();
    }
    constexpr T *end() const noexcept
    {
        return self().data() + self().size();
    }
    constexpr T &operator[](std::size_t i) const noexcept
    {
        return self().data()[i];
    }

  private:
    constexpr const Array &self() const noexcept
    {
        return static_cast<const Array &>(*this);
    }
};

} // namespace detail

/** A borrowed array, like std::span of C++20. Made from a pointer and a size, an array, or any object with data() and
 * size(), such as std::vector, std::array and std::span; the default is NULL. */
template <class T> class view : public detail::range<view<T>, T>
{
    template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;
    /* Elements of another type have another size, even if their pointers convert. */
    template <class C>
    using elements =
        std::enable_if_t<std::is_convertible_v<element<C> (*)[], T (*)[]> && !std::is_same_v<std::decay_t<C>, view>>;

  public:
    constexpr view() noexcept = default;
    constexpr view(std::nullptr_t) noexcept
    {
    }
    constexpr view(T *data, std::size_t size) noexcept : m_data(data), m_size(size)
    {
    }
    template <class C, class = elements<C>>
    constexpr view(C &&array) : m_data(std::data(array)), m_size(std::size(array))
    {
    }

    constexpr T *data() const noexcept
    {
        return m_data;
    }
    constexpr std::size_t size() const noexcept
    {
        return m_size;
    }

  private:
    T *m_data = nullptr;
    std::size_t m_size = 0;
};

/** An array allocated by the library. */
template <class T> class array : public detail::range<array<T>, T>
{
  public:
    array() noexcept = default;
    /** Takes ownership of memory that free() releases. */
    array(T *data, std::int64_t size) noexcept : m_data(data), m_size(static_cast<std::size_t>(size))
    {
    }

    T *data() const noexcept
    {
        return m_data.get();
    }
    std::size_t size() const noexcept
    {
        return m_size;
    }

  private:
    struct freer {
        void operator()(T *data) const noexcept
        {
            std::free(const_cast<std::remove_const_t<T> *>(data));
        }
    };
    std::unique_ptr<T, freer> m_data;
    std::size_t m_size = 0;
};

namespace detail
{

/** After MPI_Finalize() an object that has communicators cannot be freed. */
inline bool finalized() noexcept
{
    int over = 0;

    return MPI_Finalized(&over) != MPI_SUCCESS || over != 0;
}

} // namespace detail

/** Frees an object by the function of its type. Freeing a balancer is collective and has no effect after
 * MPI_Finalize(). */
struct deleter {
    template <class T> void operator()(T *object) const noexcept
    {
        constexpr bool collective = std::is_same_v<T, eqp_balancer>;
        const auto functions =
            std::make_tuple(eqp_balancer_free, eqp_evaluation_free, eqp_gatherer_free, eqp_kdtree_free, eqp_map_free,
                            eqp_move_plan_free, eqp_regions_free, eqp_route_free, eqp_units_free);

        if (!collective || !detail::finalized()) {
            std::get<void (*)(T *)>(functions)(object);
        }
    }
};

/** An object of the C interface that frees itself: handle<eqp_map>. C functions take its get(). */
template <class T> using handle = std::unique_ptr<T, deleter>;

/** Calls a `_create` function whose last argument is the object:
 * `auto tree = equipoise::create<eqp_kdtree>(eqp_kdtree_create, n, 3, x, nullptr);` */
template <class T, class Function, class... Arguments> handle<T> create(Function function, Arguments &&...arguments)
{
    T *object = nullptr;

    check(function(std::forward<Arguments>(arguments)..., &object));
    return handle<T>(object);
}

/** Positions of items: borrowed, read in place. */
class positions
{
  public:
    /** [n][3] numbers, one item after another. */
    template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
    positions(const T *x, std::size_t n, std::size_t stride = 0) : m_x(x), m_n(n), m_stride(stride)
    {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "coordinates are floats or doubles");
        m_single = std::is_same_v<T, float>;
    }

    /** An array, such as a std::vector, whose elements are three numbers: T[3], std::array<T, 3>. */
    template <class C, class = decltype(std::data(std::declval<const C &>())[0][0])>
    positions(const C &points) : positions(first(points), std::size(points), sizeof *std::data(points))
    {
        static_assert(sizeof *std::data(points) == 3 * sizeof std::data(points)[0][0], "a point is three numbers");
    }

    /** An array of structs that have a member of three numbers: `positions(atoms, &atom::x)`. */
    template <class C, class Item, class Place>
    positions(const C &items, Place Item::*member)
        : positions(std::empty(items) ? (decltype(&(std::data(items)->*member)[0]))nullptr
                                      : &(std::data(items)->*member)[0],
                    std::size(items), sizeof(Item))
    {
        static_assert(sizeof(Place) == 3 * sizeof((std::data(items)->*member)[0]), "a place is three numbers");
    }

    std::size_t size() const noexcept
    {
        return m_n;
    }

    /** The struct for the C functions; the caller sets weight, size and part_now. */
    eqp_points points() const noexcept
    {
        eqp_points points{};
        points.n = static_cast<std::int64_t>(m_n);
        points.x = m_x;
        points.stride = m_stride;
        points.single = m_single;
        return points;
    }

  private:
    template <class C> static auto first(const C &points) -> decltype(&std::data(points)[0][0])
    {
        return std::empty(points) ? nullptr : &std::data(points)[0][0];
    }

    const void *m_x;
    std::size_t m_n, m_stride;
    bool m_single;
};

/** eqp_balance_options with their defaults. One part per rank unless nparts is set. */
struct balance_options : eqp_balance_options {
    balance_options() : eqp_balance_options(eqp_balance_options_defaults())
    {
        nparts = 0;
    }
};

/** Number of ranks. */
inline int size_of(MPI_Comm comm)
{
    int size = 0;

    check(MPI_Comm_size(comm, &size) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
    return size;
}

namespace detail
{

/** eqp_balance_points() for a call that may already hold an exception. */
inline std::vector<int> balance_points(collective call, MPI_Comm comm, const std::string &method,
                                       const eqp_points &points, balance_options options, eqp_balance_result *result)
{
    eqp_message message = {""};
    const eqp_method *row = nullptr;
    std::vector<int> part;

    call.prepare([&] {
        check(eqp_method_read(method.c_str(), &row, &options.settings, &message), message);
        part.resize(points.n > 0 ? static_cast<std::size_t>(points.n) : 0);
        options.nparts = options.nparts == 0 ? size_of(comm) : options.nparts;
    });
    options.message = &message;
    call.end(eqp_balance_points(comm, row, call.given(&points), &options, part.data(), result), message);
    return part;
}

} // namespace detail

/** eqp_balance_points(): a part for each item, by a method such as "sfc" (also "") or "tensor:x=2,y=2,z=2", whose
 * options are added to options.settings. Collective. */
inline std::vector<int> balance_points(MPI_Comm comm, const std::string &method, const eqp_points &points,
                                       const balance_options &options = {}, eqp_balance_result *result = nullptr)
{
    return detail::balance_points(detail::collective(comm), comm, method, points, options, result);
}

/** The same for positions and weights; without weights all items weigh the same. */
inline std::vector<int> balance_points(MPI_Comm comm, const std::string &method, const positions &x,
                                       view<const double> weight = {}, const balance_options &options = {},
                                       eqp_balance_result *result = nullptr)
{
    eqp_points points = x.points();
    detail::collective call(comm);

    call.expect(weight.data() == nullptr || weight.size() == x.size(), "weight: not as many as positions");
    points.weight = weight.data();
    return detail::balance_points(call, comm, method, points, options, result);
}

/** Element type of an array. */
template <class C>
using element_of = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const C &>()))>>;

/** eqp_send_records(): sends each item to its rank in `dest`; returns the received items. Collective. */
template <class C, class T = element_of<C>> array<T> send_records(MPI_Comm comm, const C &items, view<const int> dest)
{
    static_assert(std::is_trivially_copyable_v<T>, "items travel as bytes");
    std::int64_t n = 0;
    T *arrived = nullptr;
    detail::collective call(comm);

    call.expect(std::size(items) == dest.size(), "dest: not as many as items");
    call.end(eqp_send_records(comm, sizeof(T), static_cast<std::int64_t>(dest.size()), dest.data(), std::data(items),
                              call.given(&n), &arrived));
    return array<T>(arrived, n);
}

namespace detail
{

/** eqp_balance_send() for a call that may already hold an exception. */
template <class... C>
std::tuple<array<element_of<C>>...> balance_send(collective call, MPI_Comm comm, const std::string &method,
                                                 const eqp_points &points, balance_options options, const C &...items)
{
    static_assert((std::is_trivially_copyable_v<element_of<C>> && ...), "items travel as bytes");
    eqp_message message = {""};
    eqp_point_column column[] = {{sizeof(element_of<C>), std::data(items), nullptr}...}, *next = column;
    const eqp_method *row = nullptr;
    std::int64_t n = 0;

    (call.expect(static_cast<std::int64_t>(std::size(items)) == points.n, "items: not as many as positions"), ...);
    call.prepare([&] {
        check(eqp_method_read(method.c_str(), &row, &options.settings, &message), message);
        options.nparts = options.nparts == 0 ? size_of(comm) : options.nparts;
    });
    options.message = &message;
    call.end(eqp_balance_send(comm, row, call.given(&points), &options, static_cast<int>(sizeof...(items)), column, &n,
                              nullptr),
             message);
    const auto came = [&next]() noexcept { return (next++)->recv; };
    return {array<element_of<C>>(static_cast<element_of<C> *>(came()), n)...};
}

} // namespace detail

/** eqp_balance_send(): balances as balance_points() does, one part per rank, and sends arrays of items to their ranks:
 * `auto [mine, charge] = balance_send(comm, "rcb", points, {}, atoms, charges);`. Collective. */
template <class... C>
auto balance_send(MPI_Comm comm, const std::string &method, const eqp_points &points, const balance_options &options,
                  const C &...items)
{
    return detail::balance_send(detail::collective(comm), comm, method, points, options, items...);
}

/** The same for positions and weights; without weights all items weigh the same. */
template <class... C>
auto balance_send(MPI_Comm comm, const std::string &method, const positions &x, view<const double> weight,
                  const balance_options &options, const C &...items)
{
    eqp_points points = x.points();
    detail::collective call(comm);

    call.expect(weight.data() == nullptr || weight.size() == x.size(), "weight: not as many as positions");
    points.weight = weight.data();
    return detail::balance_send(call, comm, method, points, options, items...);
}

/** eqp_cut_keys(): a rank for each item by the code's own keys; without work all items count the same. Collective. */
inline std::vector<int> cut_keys(MPI_Comm comm, view<const std::uint64_t> key, view<const double> work = {})
{
    eqp_message message = {""};
    std::vector<int> part;
    detail::collective call(comm);

    call.expect(work.data() == nullptr || work.size() == key.size(), "work: not as much as keys");
    call.prepare([&] { part.resize(key.size()); });
    const std::int64_t n = call.given(&part) != nullptr ? static_cast<std::int64_t>(key.size()) : -1;
    call.end(eqp_cut_keys(comm, n, key.data(), work.data(), part.data(), &message), message);
    return part;
}

/** The checksum of records that eqp_verify_records() keeps; initially zero. */
using records_sum = std::array<std::uint64_t, 2>;

/** eqp_verify_records(): throws if records were lost or duplicated since the call that set the sum. Collective. */
inline void verify_records(MPI_Comm comm, records_sum &sum, view<const std::int64_t> id)
{
    eqp_message message = {""};

    detail::collective(comm).end(
        eqp_verify_records(comm, static_cast<std::int64_t>(id.size()), id.data(), 0, nullptr, sum.data(), &message),
        message);
}

/** The same, including the contents of the records. */
template <class C> void verify_records(MPI_Comm comm, records_sum &sum, view<const std::int64_t> id, const C &items)
{
    static_assert(std::is_trivially_copyable_v<element_of<C>>, "items are compared as bytes");
    eqp_message message = {""};
    detail::collective call(comm);

    call.expect(std::size(items) == id.size(), "items: not as many as ids");
    call.end(eqp_verify_records(comm, static_cast<std::int64_t>(id.size()), id.data(), sizeof(element_of<C>),
                                std::data(items), call.given(sum.data()), &message),
             message);
}

/** eqp_gather_records(): the items of all ranks on every rank. Collective. */
template <class C, class T = element_of<C>> array<T> gather_records(MPI_Comm comm, const C &items)
{
    static_assert(std::is_trivially_copyable_v<T>, "items travel as bytes");
    std::int64_t n = 0;
    T *all = nullptr;

    detail::collective(comm).end(
        eqp_gather_records(comm, sizeof(T), static_cast<std::int64_t>(std::size(items)), std::data(items), &n, &all));
    return array<T>(all, n);
}

/** eqp_balancer_options with their defaults; a word such as "interaction:pins=2" chooses the method. An invalid word
 * throws on this rank only: pass the same word on all ranks. */
struct balancer_options : eqp_balancer_options {
    balancer_options()
    {
        check(eqp_balancer_options_init(this, sizeof(eqp_balancer_options)));
    }
    explicit balancer_options(const std::string &word, const eqp_methods *own = nullptr) : balancer_options()
    {
        eqp_message message = {""};
        check(eqp_choice_parse(own, nullptr, word.c_str(), &method, &message), message);
    }
};

/** A survey for the code to fill; borrowed, as eqp_survey is. */
class survey
{
  public:
    explicit survey(eqp_survey *list) noexcept : m_list(list)
    {
    }

    void add_pin(std::int64_t pin) const
    {
        check(eqp_survey_add_pin(m_list, pin));
    }
    void add_tile(const eqp_tile &tile) const
    {
        check(eqp_survey_add_tile(m_list, &tile));
    }
    void add_owner(const eqp_owner &owner) const
    {
        check(eqp_survey_add_owner(m_list, &owner));
    }
    eqp_survey *get() const noexcept
    {
        return m_list;
    }

  private:
    eqp_survey *m_list;
};

/** The code's description for the balancer: eqp_problem, with functions that may be lambdas and may throw. Leave a
 * function empty if the code does not have it; only `survey` is required. */
struct problem {
    std::vector<double> nominal;            /**< cost of each kind of work; empty: one kind */
    unsigned once = 0;                      /**< as in eqp_problem */
    std::vector<int> back, ghosts;          /**< as in eqp_problem, for each phase */
    const eqp_overhead *overhead = nullptr; /**< as in eqp_problem */
    double branch = 0.0;                    /**< as in eqp_problem */
    const eqp_methods *own = nullptr;       /**< as in eqp_problem */
    bool estimates = false;                 /**< as in eqp_problem */

    std::function<void(eqp_survey_kind, equipoise::survey)> survey;
    std::function<void(bool traced)> open;
    std::function<void()> close;
    std::function<double()> aspect;
    std::function<void(view<double> seconds)> base;
    /** placement: as in eqp_problem.trace */
    std::function<void(int nparts, const eqp_map *, const eqp_placement *, bool loads_only, eqp_evaluation *)> trace;
    std::function<void(const eqp_method *, int nparts, const double *speed, std::int64_t n, const double *centre,
                       const double *seconds, int *part)>
        assign;
    std::function<void()> advance;
    std::function<void(std::int64_t first)> label;
};

/** Result of eqp_balancer_compare(): rows by parts, then by method. */
class comparison : public detail::range<comparison, const eqp_compared>
{
  public:
    comparison(array<eqp_choice> choices, array<eqp_compared> rows)
        : m_choices(std::move(choices)), m_rows(std::move(rows))
    {
    }
    std::size_t size() const noexcept
    {
        return m_rows.size();
    }
    const eqp_compared *data() const noexcept
    {
        return m_rows.data();
    }

  private:
    array<eqp_choice> m_choices; /* the rows borrow their names */
    array<eqp_compared> m_rows;
};

/** eqp_balancer. Construction and destruction are collective. */
class balancer
{
  public:
    balancer(MPI_Comm comm, problem code, const balancer_options &options = {})
    {
        eqp_problem plain{};
        eqp_message message = {""};
        eqp_balancer *made = nullptr;
        detail::collective call(comm);

        call.prepare([&] {
            m_code = std::make_unique<functions>(std::move(code));
            plain = m_code->plain();
        });
        call.end(eqp_balancer_create(comm, call.given(&plain), &options, &made, &message), message);
        m_balancer.reset(made);
        check(eqp_comm_create(comm, m_code->comm()));
    }

    balancer(balancer &&other) noexcept = default;
    /** Swaps: the old balancer is freed with `other`. */
    balancer &operator=(balancer &&other) noexcept
    {
        std::swap(m_code, other.m_code);
        std::swap(m_balancer, other.m_balancer);
        return *this;
    }

    /** Placement of the owners, if it has changed. */
    struct advice {
        eqp_policy_action action;            /**< action taken on the map */
        bool changed;                        /**< true if owners must move */
        view<const eqp_placement> placement; /**< by at_home, if changed; borrowed until the next call */
        std::int64_t bytes;                  /**< bytes that this rank sent to make the map */
    };

    advice advise(std::int64_t left)
    {
        return advised([&](eqp_advice *to, eqp_message *why) { return eqp_balancer_advise(get(), left, to, why); });
    }
    advice renew(std::int64_t left)
    {
        return advised([&](eqp_advice *to, eqp_message *why) { return eqp_balancer_renew(get(), left, to, why); });
    }
    advice begin()
    {
        return advised([&](eqp_advice *to, eqp_message *why) { return eqp_balancer_begin(get(), to, why); });
    }

    /** Records a step. */
    eqp_step record(const eqp_work &work)
    {
        return recorded(call(), work);
    }

    /** Records a step with one evaluation: this rank's row and its work by kinds. */
    eqp_step record(eqp_rank_row &row, view<const std::int64_t> count)
    {
        eqp_work work{};
        detail::collective now = call();

        now.expect(count.size() == m_code->nkinds(), "count: not as many as kinds of work");
        work.row = &row;
        work.count = count.data();
        return recorded(now, work);
    }

    eqp_step record(eqp_rank_row &row, std::initializer_list<std::int64_t> count)
    {
        return record(row, view<const std::int64_t>(count.begin(), count.size()));
    }

    /** Compares methods ("sfc,rcb,interaction:pins=2", "all") at several numbers of parts. */
    comparison compare(const std::string &words, view<const std::int64_t> parts)
    {
        eqp_message message = {""};
        eqp_comparison wanted{};
        eqp_choice *choices = nullptr;
        eqp_compared *rows = nullptr;

        detail::collective now = call();

        now.expect(parts.size() <= INT_MAX, "parts: too many");
        now.prepare([&] {
            check(eqp_choices_parse(m_code->own(), nullptr, words.c_str(), &wanted.nchoices, &choices, &message),
                  message);
        });
        array<eqp_choice> kept(choices, wanted.nchoices);
        wanted.choice = choices;
        wanted.ncounts = static_cast<int>(parts.size());
        wanted.parts = parts.data();
        m_code->ends(now, eqp_balancer_compare(get(), now.given(&wanted), &rows, &message), message);
        return comparison(std::move(kept),
                          array<eqp_compared>(rows, static_cast<std::int64_t>(wanted.nchoices) * wanted.ncounts));
    }

    comparison compare(const std::string &words, std::initializer_list<std::int64_t> parts)
    {
        return compare(words, view<const std::int64_t>(parts.begin(), parts.size()));
    }

    bool due() const noexcept
    {
        return eqp_balancer_due(get());
    }
    const eqp_map *map() const noexcept
    {
        return eqp_balancer_map(get());
    }
    const eqp_cost_fit *costs() const noexcept
    {
        return eqp_balancer_costs(get());
    }

    /** The balancer's state for a restart file. */
    array<const unsigned char> pack() const
    {
        std::size_t size = 0;
        void *bytes = nullptr;

        check(eqp_balancer_pack(get(), &size, &bytes));
        return {static_cast<const unsigned char *>(bytes), static_cast<std::int64_t>(size)};
    }
    void unpack(view<const unsigned char> bytes)
    {
        check(eqp_balancer_unpack(get(), bytes.size(), bytes.data()));
    }

    /** The C object, for all other functions of balancer.h. */
    eqp_balancer *get() const noexcept
    {
        return m_balancer.get();
    }

  private:
    /* The code's functions, called from C; their address stays the same when the balancer is moved. */
    class functions
    {
      public:
        explicit functions(problem code) : m_code(std::move(code))
        {
        }

        std::size_t nkinds() const noexcept
        {
            return m_code.nominal.empty() ? 1 : m_code.nominal.size();
        }
        const eqp_methods *own() const noexcept
        {
            return m_code.own;
        }

        eqp_problem plain()
        {
            eqp_problem plain{};

            if (m_code.back.size() != m_code.ghosts.size()) {
                throw error(EQP_ERR_ARGUMENT, "problem: 'back' and 'ghosts' are of different lengths");
            }
            plain.user = this;
            plain.nkinds = static_cast<int>(nkinds());
            plain.nominal = m_code.nominal.empty() ? nullptr : m_code.nominal.data();
            plain.once = m_code.once;
            plain.nphases = static_cast<int>(m_code.back.size());
            plain.back = m_code.back.empty() ? nullptr : m_code.back.data();
            plain.ghosts = m_code.ghosts.empty() ? nullptr : m_code.ghosts.data();
            plain.overhead = m_code.overhead;
            plain.branch = m_code.branch;
            plain.own = m_code.own;
            plain.estimates = m_code.estimates;
            plain.survey = m_code.survey ? survey_of : nullptr;
            plain.close = m_code.close ? close_of : nullptr;
            plain.aspect = m_code.aspect ? aspect_of : nullptr;
            plain.base = m_code.base ? base_of : nullptr;
            plain.advance = m_code.advance ? advance_of : nullptr;
            set<&problem::open>(plain.open);
            set<&problem::trace>(plain.trace);
            set<&problem::assign>(plain.assign);
            set<&problem::label>(plain.label);
            return plain;
        }

        functions(const functions &) = delete;
        functions &operator=(const functions &) = delete;
        ~functions()
        {
            if (!detail::finalized()) {
                eqp_comm_free(&m_comm);
            }
        }
        /** A private communicator, used to tell other ranks of an exception. */
        MPI_Comm *comm() noexcept
        {
            return &m_comm;
        }
        bool calling() const noexcept
        {
            return m_calling;
        }

        /** Ends a call of the library: rethrows the exception of a callback. */
        void ends(detail::collective now, int code, const eqp_message &message = {""})
        {
            now.throws(std::exchange(m_thrown, nullptr));
            now.end(code, message, std::exchange(m_called, false));
        }

      private:
        template <class Call> static int guarded(void *user, Call call) noexcept
        {
            functions &self = *static_cast<functions *>(user);
            int code = EQP_OK;

            self.m_called = self.m_calling = true;
            try {
                call(self.m_code);
            } catch (const error &e) {
                code = self.keep(e.code() < 0 ? e.code() : EQP_ERR_INTERNAL);
            } catch (const std::bad_alloc &) {
                code = self.keep(EQP_ERR_MEMORY);
            } catch (...) {
                code = self.keep(EQP_ERR_INTERNAL);
            }
            self.m_calling = false;
            return code;
        }
        int keep(int code) noexcept
        {
            m_thrown = m_thrown ? m_thrown : std::current_exception();
            return code;
        }

        static int survey_of(void *user, eqp_survey_kind kind, eqp_survey *list)
        {
            return guarded(user, [&](problem &code) { code.survey(kind, equipoise::survey(list)); });
        }
        /* For callbacks whose parameters are those of C. */
        template <auto member, class... Parameters> void set(int (*&callback)(void *, Parameters...)) const
        {
            callback = [](void *user, Parameters... given) {
                return guarded(user, [&](problem &code) { (code.*member)(given...); });
            };
            callback = m_code.*member ? callback : nullptr;
        }
        static void close_of(void *user)
        {
            (void)guarded(user, [&](problem &code) { code.close(); });
        }
        static int aspect_of(void *user, double *aspect)
        {
            return guarded(user, [&](problem &code) { *aspect = code.aspect(); });
        }
        static void base_of(void *user, int nparts, double *seconds)
        {
            (void)guarded(user, [&](problem &code) { code.base({seconds, static_cast<std::size_t>(nparts)}); });
        }
        static int advance_of(void *user, eqp_message *message)
        {
            (void)message; /* all ranks hear of what is thrown */
            return guarded(user, [&](problem &code) { code.advance(); });
        }

        problem m_code;
        std::exception_ptr m_thrown;
        bool m_called = false, m_calling = false;
        MPI_Comm m_comm = MPI_COMM_NULL;
    };

    /* A collective call of the balancer begins. */
    detail::collective call() const
    {
        if (m_code == nullptr || m_code->calling()) {
            throw error(EQP_ERR_STATE, m_code == nullptr ? "balancer: moved from" : "balancer: not from a callback");
        }
        return detail::collective(*m_code->comm());
    }

    eqp_step recorded(const detail::collective &now, const eqp_work &work)
    {
        eqp_step step = eqp_step_defaults();

        m_code->ends(now, eqp_balancer_record(get(), now.given(&work), &step));
        return step;
    }

    template <class Call> advice advised(Call advise)
    {
        const detail::collective now = call();
        eqp_advice plain{};
        eqp_message message = {""};

        m_code->ends(now, advise(&plain, &message), message);
        return {plain.action, plain.changed,
                view<const eqp_placement>(plain.placement, static_cast<std::size_t>(plain.nplacements)), plain.bytes};
    }

    std::unique_ptr<functions> m_code; /* before the balancer, which borrows it */
    handle<eqp_balancer> m_balancer;
};

} // namespace equipoise

#endif
