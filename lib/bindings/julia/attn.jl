# attn: attn-cli from Julia: run a model on a text, and have what every attention head looks at.
#
#     include("attn.jl")                  # needs attn-cli on the PATH or as ENV["ATTN"]
#     cells, names = attn_table("Life is short"; show = "weights,resid_pre", layer = "all")
#     tokens, weights = attn_head("Life is short"; layer = 0, head = 1)
#
# Further keywords are options of attn-cli: model = "life", attention = "window:2". The numbers come
# from the program's own tables. No test runs this file: no Julia was at hand where it was written.
using DelimitedFiles

function attn_cli(text; options...)
    words = String[]
    for (name, value) in options
        push!(words, "--" * replace(string(name), "_" => "-"), string(value))
    end
    program = get(ENV, "ATTN", "attn-cli")
    return read(`$program run --quiet --sentence $text $words`, String)
end

# A row a cell: tensor, layer, head, row, row_token, column, column_token, value, all of them texts.
function attn_table(text; options...)
    output = attn_cli(text; format = "tidy", options...)
    cells, names = readdlm(IOBuffer(output), ',', String; header = true)
    return cells, vec(names)
end

# Tokens, and what each (a row) looks at (a column); NaN in the masked future.
function attn_head(text; layer, head, options...)
    cells, _ = attn_table(text; layer = layer, head = head, show = "weights", options...)
    number(column, row) = parse(Int, cells[row, column]) + 1
    size = maximum(number(4, row) for row in axes(cells, 1))
    tokens, weights = fill("", size), fill(NaN32, size, size)
    for row in axes(cells, 1)
        tokens[number(4, row)] = cells[row, 5]
        weights[number(4, row), number(6, row)] = parse(Float32, cells[row, 8])
    end
    return tokens, weights
end
