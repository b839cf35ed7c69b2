#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C program that calls every function of the public headers with NULL and with extreme numbers.

generate.py OUTPUT HEADER...   Functions of HEADERs that need MPI are called if MPI is among the names of OUTPUT.

An argument, and a member of a struct that an argument points to, is a slot: a pointer or a number. calls.h goes through
the slots of a function. The comments of the header tell which arguments may be NULL. A declaration that this program
cannot call is an error, so that no new function is left out."""

import pathlib
import re
import sys

INTEGERS = {
    'int': ('INT_MIN', 'INT_MAX'), 'int8_t': ('INT8_MIN', 'INT8_MAX'), 'int32_t': ('INT32_MIN', 'INT32_MAX'),
    'int64_t': ('INT64_MIN', 'INT64_MAX'), 'uint64_t': ('0', 'UINT64_MAX'), 'uint32_t': ('0', 'UINT32_MAX'), 'size_t': ('0', 'SIZE_MAX'),
    'bool': ('0', '1'), 'unsigned': ('0', 'UINT_MAX'), 'unsigned char': ('0', 'UCHAR_MAX'),
}
REALS = {'double', 'float'}


def fail(text):
    sys.exit('generate.py: ' + text)


class Header:
    """The declarations of one header, with the comment in front of each."""

    def __init__(self, path):
        text = path.read_text()
        self.name = path.as_posix().rpartition('include/equipoise/')[2]
        self.mpi = re.search(r'#include <(mpi|equipoise/(balance|more/route))\.h>', text) is not None
        self.mpi = self.mpi or self.name == 'survey.h'  # surveys exist only with ranks
        self.comments = []
        text = re.sub(r'/\*.*?\*/', self.keep, text, flags=re.S)
        text = re.sub(r'\\\n', ' ', text)
        text = re.sub(r'^\s*#.*$', '', text, flags=re.M)
        text = re.sub(r'extern "C" \{', '', text)
        text = re.sub(r'EQP_PRINTF\(\d, \d\)', '', text)
        self.statements = list(split(text, self.name))

    def keep(self, match):
        self.comments.append(match.group())
        return f' @{len(self.comments) - 1}@ '

    def comment(self, marks):
        """The text of the comments with the given marks."""
        text = ' '.join(self.comments[int(m)] for m in re.findall(r'@(\d+)@', marks))
        return re.sub(r'\s+', ' ', re.sub(r'\n\s*\*(?!/)', ' ', text))


def split(text, name):
    """Statements at depth 0; a function body ends a statement, as ';' does."""
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += (c == '{') - (c == '}')
        if depth == -1:  # the end of extern "C"
            depth, start = 0, i + 1
        if depth == 0 and (c == ';' or (c == '}' and re.search(r'\)\s*\{', text[start:i]) and 'inline' in text[start:i])):
            yield text[start:i + 1]
            start = i + 1
    if re.sub(r'@\d+@', '', text[start:]).strip():
        fail(f'{name}: no declaration: {text[start:].strip()}')


class World:
    """All types and functions."""

    def __init__(self, headers):
        self.structs, self.enums, self.opaque, self.callbacks, self.functions = {}, set(), set(), {}, {}
        for header in headers:
            for statement in header.statements:
                self.take(header, statement)
        self.opaque -= self.structs.keys()

    def take(self, header, statement):
        bare = ' '.join(re.sub(r'@\d+@', '', statement).split()).rstrip(';').strip()
        marks = statement[:re.search(r'[^\s@\d]', re.sub(r'@\d+@', lambda m: ' ' * len(m.group()), statement)).start()] \
            if bare else statement
        if not bare:
            return
        if m := re.fullmatch(r'(?:typedef )?enum (\w+) ?\{.*\}( \w+)?', bare):
            self.enums |= {m.group(1), 'enum ' + m.group(1)}
        elif m := re.fullmatch(r'typedef struct (\w+) (\w+)', bare):
            self.opaque.add(m.group(1))
        elif m := re.fullmatch(r'typedef struct (\w+) ?\{.*\} (\w+)', bare):
            body = statement[statement.index('{') + 1:statement.rindex('}')]
            self.structs[m.group(1)] = list(self.members(header, body))
        elif m := re.fullmatch(r'typedef (.*?)\(\*(\w+)\)\((.*)\)', bare):
            self.callbacks[m.group(2)] = (m.group(1).strip(), m.group(3))
        elif re.match(r'extern const ', bare) and '(' not in bare:
            pass
        elif m := re.fullmatch(r'(static inline )?([\w ]+?[ *]+)(eqp_\w+)\(([^{]*)\)( ?\{.*\})?', bare):
            self.functions[m.group(3)] = Function(header, m.group(3), m.group(2).strip(), m.group(4),
                                                  header.comment(marks), bool(m.group(1)))
        else:
            fail(f'{header.name}: unknown declaration: {bare}')

    def members(self, header, body):
        """(declaration, comment) of each member; a union is left as zeros."""
        body = re.sub(r'union \{[^}]*\}\s*\w+\s*;\s*@\d+@', '', body)
        for m in re.finditer(r'((?:\s*@\d+@)*)([^;@]+(?:@\d+@[^;@]*)*);((?:[ \n]*@\d+@)*)', body):
            behind = [k for k in re.findall(r'@(\d+)@', m.group(3)) if header.comments[int(k)].startswith('/**<')]
            front = [k for k in re.findall(r'@(\d+)@', m.group(1)) if not header.comments[int(k)].startswith('/**<')]
            yield (' '.join(re.sub(r'@\d+@', '', m.group(2)).split()),
                   header.comment(''.join(f'@{k}@' for k in behind + front)))


class Function:
    """One function: its return type, parameters and comment."""

    def __init__(self, header, name, returns, parameters, comment, inline):
        self.header, self.name, self.returns, self.inline = header, name, returns, inline
        self.comment = comment
        self.parameters = [] if parameters.strip() in ('', 'void') else [p.strip() for p in commas(parameters)]


def commas(text):
    depth, part = 0, ''
    for c in text:
        depth += (c == '(') - (c == ')')
        if c == ',' and depth == 0:
            yield part
            part = ''
        else:
            part += c
    yield part


class Thing:
    """A declared argument or member: base type, stars, name, dimensions."""

    def __init__(self, text):
        self.text = text
        self.callback = None
        if m := re.fullmatch(r'(.*?)\(\*(\w+)\)\((.*)\)', text):
            self.callback, self.name = (m.group(1).strip(), m.group(3)), m.group(2)
            return
        if m := re.fullmatch(r'(const )?([\w ]+?) ?\(\*(\w+)\)\[(.+)\]', text):
            self.const, self.base, self.stars, self.name, self.dims = bool(m.group(1)), m.group(2), '(*)', m.group(3), ''
            self.cast = f'{m.group(1) or ""}{m.group(2)} (*)[{m.group(4)}]'
            return
        m = re.fullmatch(r'(const )?((?:unsigned char|enum \w+|struct \w+|\w+)) ?((?:\* ?(?:const ?)?)*) ?(\w+)((?:\[.+\])*)', text)
        if not m:
            fail(f'unknown kind of argument: {text}')
        self.const, self.base, self.stars, self.name, self.dims = \
            bool(m.group(1)), m.group(2), m.group(3).replace(' ', ''), m.group(4), m.group(5)


def allows_null(world, function, name, seen=()):
    """True if the comment of a function allows NULL for an argument."""
    if name == 'user':  # never looked at
        return True
    comment = function.comment
    if function.name in seen:
        return False
    seen = seen + (function.name,)
    parts = re.split(r'\\(?=param|return)', comment)
    for part in parts[1:]:
        m = re.match(r'param\s*(?:\[[\w,]+\])?\s*([\w, ]+?)(?:  | \[| (?=[^,\s]))(.*)', part)
        if m and name in [n.strip() for n in m.group(1).split(',')]:
            text = part
            if re.search('NULL(?! inside| if there is none)', text):
                return True
            refers = re.findall(r'as in (eqp_\w+)\(', text)
            return any(allows_null(world, world.functions[r], name, seen) for r in refers if r in world.functions)
    for sentence in re.split(r'(?<=[.;:]) ', parts[0]):
        if 'NULL' in sentence and 'ERR_ARGUMENT' not in sentence and 'Never NULL' not in sentence:
            if re.search(rf'`?\*?\b{name}\b', sentence) or 'NULL is legal' in sentence:
                return True
    for other in re.findall(r'(?:[aA]s|Arguments and codes as|copydoc) (eqp_\w+)', comment):
        if other in world.functions and any(Thing(p).name == name for p in world.functions[other].parameters if p != '...'):
            return allows_null(world, world.functions[other], name, seen)
    return False


class Writer:
    """The C text of the call of one function."""

    def __init__(self, world, function):
        self.world, self.function = world, function
        self.slots, self.before = [], []
        self.arrays = False

    def slot(self, kind, name):
        self.slots.append((kind, name))
        return len(self.slots) - 1

    def pointer(self, name, allowed, value):
        return f'null({self.slot("MAY_BE_NULL" if allowed else "POINTER", name)}) ? NULL : {value}'

    def make_callback(self, returns, parameters, name):
        if returns not in ('int', 'void', 'double'):
            fail(f'{self.function.name}: unknown callback {name}')
        key = f'stub_{self.function.name}_{name}'
        names = [p.strip() if re.search(r'\w\[|\w \w+$|\*\w+$', p.strip()) else p.strip() + ' a' for p in commas(parameters)]
        if parameters.strip() == 'void':
            names = ['void']
        unused = ''.join(f'    (void){Thing(p).name};\n' for p in names if p != 'void')
        give = '' if returns == 'void' else '    return 0;\n'
        self.stubs = getattr(self, 'stubs', '') + f'static {returns} {key}({", ".join(names)})\n{{\n{unused}{give}}}\n\n'
        return key

    def value(self, thing, path, allowed, member):
        """A C expression for an argument, or for a member with its comment. Adds its slots."""
        w = self.world
        if thing.callback:
            return self.pointer(path, allowed, self.make_callback(*thing.callback, path.replace('->', '_')))
        base, stars = thing.base, thing.stars
        if thing.dims and member is None:
            stars += '*'
        const = 'const ' if thing.const else ''
        plain = re.sub(r'^enum ', '', base)
        number = base in INTEGERS or base in REALS or plain in w.enums
        if stars == '':
            if base in w.callbacks:
                return self.pointer(path, allowed, self.make_callback(*w.callbacks[base], path.replace('->', '_')))
            if base == 'MPI_Comm':
                return f'null({self.slot("POINTER", path)}) ? MPI_COMM_NULL : plain_comm()'
            if base in REALS:
                return f'({base})real({self.slot("REAL", path)})'
            if number:
                low, high = INTEGERS.get(base, INTEGERS['int'])
                many = 2 if re.match(r'n[a-z]*$', thing.name) else 1
                which = 'natural' if low == '0' else 'integer'
                args = f'{many}, {high}' if low == '0' else f'{many}, {low}, {high}'
                return f'({base}){which}({self.slot("INTEGER", path)}, {args})'
            if base in w.structs:
                return f'{self.struct(base, path, 1)}[0]'
        elif stars == '(*)' and base in INTEGERS | dict.fromkeys(REALS):
            self.arrays = True
            s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
            return f'null({s}) ? NULL : ({thing.cast})buffer({s})'
        elif stars == '*':
            if base == 'char' and member and 'owned' in member:
                return self.pointer(path, allowed, 'strdup("x")')
            if base == 'char' and thing.const:
                self.arrays |= self.is_array(thing.name, member)
                return self.pointer(path, allowed, '"x"')
            if number and thing.const:
                self.arrays = True
                self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
                s = len(self.slots) - 1
                if base == 'bool':
                    return f'null({s}) ? NULL : (const bool *)buffer({s})'
                c = self.slot('CONTENT', path + '[]')
                kind = 'reals' if base == 'double' else 'floats' if base == 'float' else \
                    'words' if base in ('int64_t', 'uint64_t', 'size_t') else 'ints' if base == 'int' or plain in w.enums \
                    else 'bytes'
                return f'null({s}) ? NULL : (const {base} *){kind}({c}, buffer({s}))'
            if number or base in ('void', 'char'):
                self.arrays = True
                s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
                late = re.search(rf'\] {thing.name}\b[^\\]*set on errors, too', self.function.comment)
                if not thing.const and member is None and number and not late:
                    self.before.append(f'output({s});')
                return f'null({s}) ? NULL : ({const}{base} *)buffer({s})'
            if base == 'MPI_Comm':
                s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
                self.before.append(f'MPI_Comm comm{s} = plain_own_comm();')
                return f'null({s}) ? NULL : &comm{s}'
            if base in w.structs:
                self.arrays |= self.is_array(thing.name, member)
            if base in w.structs:  # a message may always be NULL: <equipoise/more/base.h>
                return self.pointer(path, allowed or base == 'eqp_message', self.struct(base, path, 20))
            if base in w.opaque:
                return self.pointer(path, allowed, f'make_{base}()')
        elif stars in ('*const*', '**') and base in ('char', 'void') and (stars == '*const*'):
            self.arrays = True
            s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
            e = self.slot('MAY_BE_NULL', path + '[0]')
            kind = f'{const}{base} *const'
            item = '(char *)"x"' if base == 'char' else f'buffer({e})'
            self.before.append(f'{kind} row{s}[9] = {{null({e}) ? NULL : {item}' + f', {item}' * 8 + '};')
            return f'null({s}) ? NULL : row{s}'
        elif stars == '*const*' and base in w.structs:
            self.arrays = True
            s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
            row = self.struct(base, path + '->row', 1)
            self.before.append(f'const {base} *const row{s}[9] = {{{", ".join([row] * 9)}}};')
            return f'null({s}) ? NULL : row{s}'
        elif stars == '*const*' and base in w.opaque:
            self.arrays = True
            s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
            e = self.slot('POINTER', path + '[0]')
            self.before.append(f'{base} *const one{s} = null({e}) ? NULL : make_{base}();')
            self.before.append(f'{base} *const row{s}[20] = {{' + ', '.join([f'one{s}'] * 20) + '};')
            return f'null({s}) ? NULL : row{s}'
        elif stars == '**':
            s = self.slot('MAY_BE_NULL' if allowed else 'POINTER', path)
            self.before.append(f'{const}{base} *out{s} = NULL;')
            return f'null({s}) ? NULL : &out{s}'
        fail(f'{self.function.header.name}: {self.function.name}: cannot make a value for {thing.text}')

    def is_array(self, name, comment):
        """True if the comment gives a length for an argument or a member."""
        text = comment if comment else self.function.comment
        return bool(re.search(rf'\[' if comment else rf'{name}\s+\[', text))

    def struct(self, name, path, count):
        """Declares an array of structs with all members set and returns its name."""
        variable = 's_' + re.sub(r'\W', '_', path)
        if path.count('->') > 4:
            fail(f'{self.function.name}: {path} is too deep')
        lines = [f'{name} {variable}[{count}];', f'memset({variable}, 0, sizeof {variable});']
        for declaration, comment in self.world.structs[name]:
            thing = Thing(declaration)
            if not thing.callback and thing.dims:  # the same number in all elements; texts stay empty
                if thing.base == 'char':
                    continue
                base = thing.base
                if base not in INTEGERS and base not in REALS:
                    if re.sub(r'^enum ', '', base) not in self.world.enums:
                        fail(f'{name}: cannot fill {declaration}')
                element = Thing(f'{base} {thing.name}')
                value = self.value(element, f'{path}->{thing.name}', True, comment)
                lines.append(f'for (size_t i = 0; i < sizeof {variable}[0].{thing.name} / '
                             f'sizeof({base}); i++) {{ (({base} *){variable}[0].{thing.name})[i] = {value}; }}')
                continue
            value = self.value(thing, f'{path}->{thing.name}', 'NULL' in comment, comment)
            if declaration == 'size_t size' and name.endswith('_options'):  # size of the struct
                value = re.sub(r'natural\((\d+), 1,', rf'natural(\1, sizeof({name}),', value)
            lines.append(f'{variable}[0].{thing.name} = {value};')
        if count > 1:
            lines.append(f'for (int i = 1; i < {count}; i++) {{ {variable}[i] = {variable}[0]; }}')
        # The declarations that the members need come first.
        self.before += lines
        return variable

    def text(self):
        f, arguments = self.function, []
        for p in f.parameters:
            if p == '...':
                continue
            thing = Thing(p)
            arguments.append(self.value(thing, thing.name, allows_null(self.world, f, thing.name), None))
        call = f'{f.name}({", ".join(arguments)})'
        body = [f'    {line}' for line in self.before]
        if f.returns == 'void':
            body += [f'    {call};', '    done_void();']
        elif f.returns == 'int':
            body.append(f'    done_int({call});')
        elif f.returns.endswith('*'):
            body.append(f'    done_zero({call} == NULL);')
        elif f.returns in self.world.structs:
            body += [f'    const {f.returns} zero = {{0}}, value = {call};',
                     '    done_zero(memcmp(&value, &zero, sizeof zero) == 0);']
        elif f.returns in INTEGERS or f.returns in REALS or f.returns in self.world.enums:
            body.append(f'    done_zero({call} == 0);')
        else:
            fail(f'{f.header.name}: {f.name} returns {f.returns}')
        slots = ', '.join(f'{{{kind}, "{name}"}}' for kind, name in self.slots)
        return (getattr(self, 'stubs', '') + (f'static const slot slots_{f.name}[] = {{{slots}}};\n' if slots else '') +
                f'static void call_{f.name}(void)\n{{\n' + '\n'.join(body) + '\n}\n')

    def row(self):
        f = self.function
        slots = f'slots_{f.name}, {len(self.slots)}' if self.slots else 'NULL, 0'
        return f'    {{"{f.name}", call_{f.name}, {slots}, {int(not self.arrays)}, {int(f.inline)}}},'


def main():
    output, paths = pathlib.Path(sys.argv[1]), [pathlib.Path(p) for p in sys.argv[2:]]
    headers = [Header(p) for p in paths]
    world = World(headers)
    mpi = 'mpi' in output.name
    text = ['/* Made by generate.py. */']
    text += [f'#include <equipoise/{h.name}>' for h in headers if mpi or not h.mpi]
    text += ['#include "calls.h"', '#include "objects.h"', '']
    writers = [Writer(world, f) for f in world.functions.values() if f.header.mpi == mpi]
    text += [w.text() for w in writers]
    text += ['static const function functions[] = {', *[w.row() for w in writers], '};', '',
             'int main(void)', '{', '    return calls_main(functions, sizeof functions / sizeof functions[0]);', '}', '']
    output.write_text('\n'.join(text))


if __name__ == '__main__':
    main()
