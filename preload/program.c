/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the dynamic section of an ELF file: needed libraries and imported symbols. */
#include "job.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct program {
    const unsigned char *bytes;
    size_t size;
    const ElfW(Phdr) * segment;
    int nsegments;
    const char *interpreter; /* NULL: static */
    const char *names;       /* string table of libraries and symbols */
    size_t names_size;
    const ElfW(Dyn) * dynamic;
    size_t ndynamic;
} program;

static bool has_bytes(const program *file, size_t first, size_t count)
{
    return first <= file->size && count <= file->size - first;
}

/* File offset of a virtual address; 0: none. */
static size_t place_of(const program *file, size_t address)
{
    for (int i = 0; i < file->nsegments; i++) {
        const ElfW(Phdr) *s = &file->segment[i];

        if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz) {
            return (size_t)(address - s->p_vaddr + s->p_offset);
        }
    }
    return 0;
}

static const char *text_at(const program *file, size_t place, size_t size)
{
    return size > 0 && has_bytes(file, place, size) && file->bytes[place + size - 1] == '\0'
               ? (const char *)file->bytes + place
               : NULL;
}

static size_t dynamic_value(const program *file, ElfW(Sxword) tag)
{
    for (size_t i = 0; i < file->ndynamic && file->dynamic[i].d_tag != DT_NULL; i++) {
        if (file->dynamic[i].d_tag == tag) {
            return (size_t)file->dynamic[i].d_un.d_val;
        }
    }
    return 0;
}

/* false: not a program for this machine. */
static bool read_tables(program *file)
{
    const ElfW(Ehdr) *head = (const void *)file->bytes;

    if (!has_bytes(file, 0, sizeof *head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        head->e_phentsize != sizeof *file->segment || head->e_phoff % _Alignof(ElfW(Phdr)) != 0 ||
        !has_bytes(file, head->e_phoff, (size_t)head->e_phnum * sizeof *file->segment)) {
        return false;
    }
    file->segment = (const void *)(file->bytes + head->e_phoff);
    file->nsegments = head->e_phnum;
    for (int i = 0; i < file->nsegments; i++) {
        const ElfW(Phdr) *s = &file->segment[i];

        if (s->p_type == PT_INTERP) {
            file->interpreter = text_at(file, s->p_offset, s->p_filesz);
        } else if (s->p_type == PT_DYNAMIC && s->p_offset % _Alignof(ElfW(Dyn)) == 0 &&
                   has_bytes(file, s->p_offset, s->p_filesz)) {
            file->dynamic = (const void *)(file->bytes + s->p_offset);
            file->ndynamic = s->p_filesz / sizeof *file->dynamic;
        }
    }
    file->names_size = dynamic_value(file, DT_STRSZ);
    file->names = text_at(file, place_of(file, dynamic_value(file, DT_STRTAB)), file->names_size);
    return true;
}

static bool names_symbol(const program *file, const char *name)
{
    for (size_t at = 0; file->names != NULL && at < file->names_size; at += strlen(file->names + at) + 1) {
        if (strcmp(file->names + at, name) == 0) {
            return true;
        }
    }
    return false;
}

/* These names bypass the profiling interface. */
static bool calls_pmpi(const program *file)
{
    static const char *const names[] = {"PMPI_Init",      "PMPI_Init_thread",  "pmpi_init_",
                                        "pmpi_init_f08_", "pmpi_init_thread_", "pmpi_init_thread_f08_"};
    bool calls = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !calls; i++) {
        calls = names_symbol(file, names[i]);
    }
    return calls;
}

/* MPI's C library: libmpi.so.40, libmpich.so.12 and the like. */
static bool is_mpi(const char *name)
{
    return strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0;
}

/* MPI library that a file needs directly; NULL: none. */
static const char *mpi_wanted(const program *file)
{
    for (size_t i = 0; i < file->ndynamic && file->dynamic[i].d_tag != DT_NULL; i++) {
        const size_t at = (size_t)file->dynamic[i].d_un.d_val;

        if (file->dynamic[i].d_tag == DT_NEEDED && file->names != NULL && at < file->names_size &&
            is_mpi(file->names + at)) {
            return file->names + at;
        }
    }
    return NULL;
}

/* MPI library that one of its libraries needs, as the loader lists it; empty: none. */
static void mpi_of_libraries(const program *file, const char *path, char *name, size_t size)
{
    int ends[2];
    char line[4096];

    name[0] = '\0';
    if (pipe(ends) != 0) {
        return;
    }
    const pid_t loader = fork();

    if (loader == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO); /* hides errors that running the program repeats */
        close(ends[0]);
        close(ends[1]);
        execl(file->interpreter, file->interpreter, "--list", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");

    while (said != NULL && fgets(line, sizeof line, said) != NULL) {
        const char *library = line + strspn(line, " \t");

        if (name[0] == '\0' && is_mpi(library)) {
            snprintf(name, size, "%.*s", (int)strcspn(library, " \t\n"), library);
        }
    }
    if (said != NULL) {
        fclose(said);
    }
    if (loader > 0) {
        waitpid(loader, NULL, 0);
    }
}

static bool map_file(const char *path, program *file)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;

    *file = (program){0};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        file->size = (size_t)status.st_size;
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    file->bytes = bytes;
    return bytes != MAP_FAILED;
}

static void look_at_mpi(const program *file, const char *path, const char *library, char *wrong, char *note,
                        size_t size)
{
    const char *wanted = mpi_wanted(file);
    char name[256] = "";
    program own;

    if (wanted == NULL) {
        mpi_of_libraries(file, path, name, sizeof name);
        wanted = name[0] != '\0' ? name : NULL;
    }
    if (wanted == NULL && !names_symbol(file, "dlopen")) {
        snprintf(wrong, size, "%s: is no MPI program", path);
    } else if (wanted == NULL) {
        snprintf(note, size, "MPI is loaded while it runs, if at all");
    } else if (map_file(library, &own)) {
        const char *ours = read_tables(&own) ? mpi_wanted(&own) : NULL;

        if (ours != NULL && strcmp(ours, wanted) != 0) {
            snprintf(wrong, size, "%s: is a program of another MPI: it needs %s, not %s", path, wanted, ours);
        }
        munmap((void *)(uintptr_t)own.bytes, own.size);
    }
}

void eqp__program_look(const char *path, const char *library, char *wrong, char *note, size_t size)
{
    struct stat status;
    program file;

    wrong[0] = note[0] = '\0';
    if (stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
        snprintf(wrong, size, "%s: is setuid or setgid: the system loads nothing into it", path);
    } else if (!map_file(path, &file)) {
        snprintf(note, size, "it cannot be read");
    } else {
        if (file.size >= 2 && memcmp(file.bytes, "#!", 2) == 0) {
            snprintf(note, size, "it is a script, and what that runs is not known");
        } else if (!read_tables(&file)) {
            snprintf(wrong, size, "%s: is no program of this machine", path);
        } else if (file.interpreter == NULL) {
            snprintf(wrong, size, "%s: is linked statically: nothing can be loaded into it", path);
        } else if (calls_pmpi(&file)) {
            snprintf(wrong, size, "%s: calls PMPI_Init by itself: it holds a tool, or MPI's library for Fortran", path);
        } else {
            look_at_mpi(&file, path, library, wrong, note, size);
        }
        munmap((void *)(uintptr_t)file.bytes, file.size);
    }
}
