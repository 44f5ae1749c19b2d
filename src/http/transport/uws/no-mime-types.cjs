/**
 * Takes the place of `mime-types` in the package. HyperExpress asks it for helpers that the
 * transport does not use, and its table costs a twentieth of the start.
 */
exports.lookup = exports.contentType = () => false;
