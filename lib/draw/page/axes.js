// Vectors in few dimensions.

// The principal axes of centred vectors, by power iteration on what is left of their products.
function principalAxes(vectors, count) {
    const size = vectors[0].length;
    const axes = [];
    for (let k = 0; k < count; k++) {
        let axis = Float64Array.from({ length: size }, (_, i) => Math.sin(i * (k + 1) + 1));
        for (let step = 0; step < 200; step++) {
            const next = new Float64Array(size);
            for (const vector of vectors) {
                const along = dot(vector, axis);
                for (let i = 0; i < size; i++) next[i] += along * vector[i];
            }
            for (const other of axes) {
                const along = dot(next, other);
                for (let i = 0; i < size; i++) next[i] -= along * other[i];
            }
            const length = Math.sqrt(dot(next, next));
            if (length < 1e-12) return axes;
            for (let i = 0; i < size; i++) next[i] /= length;
            const moved = 1 - Math.abs(dot(next, axis) / Math.sqrt(dot(axis, axis)));
            axis = next;
            if (moved < 1e-13) break;
        }
        axes.push(axis);
    }
    return axes;
}

function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
}

// Where each token stands, and how much of the spread each axis holds.
function placesOf(tensor, index, way) {
    const data = tensor.matrix(index);
    const width = tensor.columnCount;
    const vectors = [];
    for (let row = firstShown(tensor); row < tensor.rowCount; row++)
        vectors.push(Float64Array.from(data.subarray(row * width, (row + 1) * width)));
    if (way === 'first')
        return {
            places: vectors.map((vector) => [vector[0], vector[1] || 0, vector[2] || 0]),
            shares: [],
        };
    const mean = new Float64Array(width);
    for (const vector of vectors)
        for (let i = 0; i < width; i++) mean[i] += vector[i] / vectors.length;
    for (const vector of vectors) for (let i = 0; i < width; i++) vector[i] -= mean[i];
    const whole = vectors.reduce((sum, vector) => sum + dot(vector, vector), 0) || 1;
    const axes = principalAxes(vectors, 3);
    const places = vectors.map((vector) =>
        [0, 1, 2].map((k) => (axes[k] ? dot(vector, axes[k]) : 0)),
    );
    const shares = axes.map(
        (axis) => vectors.reduce((sum, vector) => sum + dot(vector, axis) ** 2, 0) / whole,
    );
    return { places, shares };
}
