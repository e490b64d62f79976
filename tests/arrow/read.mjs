// Holds Arrow's files, as its own library reads them, against the same tables as CSV: names, nulls and every cell.
//
//     node read.mjs MODULES NAME...      NAME.arrow and NAME.tidy.csv, whose cells have no commas
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { tableFromIPC } = createRequire(`${process.argv[2]}/package.json`)("apache-arrow");

const same = (cell, text) => {
    if (cell === null)
        return text === "" || text === "mean";
    if (typeof cell === "number" && /^-?(nan|inf)$/.test(text))
        return Object.is(cell, { nan: NaN, inf: Infinity, "-inf": -Infinity }[text]);
    return typeof cell === "string" ? cell === text : Number(cell) === Math.fround(Number(text));
};

for (const name of process.argv.slice(3)) {
    const table = tableFromIPC(readFileSync(`${name}.arrow`));
    const [head, ...lines] = readFileSync(`${name}.tidy.csv`, "utf8").trimEnd().split("\n");
    const names = table.schema.fields.map((field) => field.name);
    const wrong = lines.findIndex((line, row) => {
        const cells = table.get(row).toArray();
        return !line.split(",").every((text, i) => same(cells[i], text));
    });
    const types = table.schema.fields.map((field) => String(field.type)).join(" ");
    if (names.join() !== head || table.numRows !== lines.length || wrong >= 0)
        console.log(`${name}: ${names}: ${table.numRows} rows, of ${lines.length}; row ${wrong} differs`);
    else
        console.log(`${name}: ${table.numRows} rows in ${table.batches.length}: ${types}`);
}
