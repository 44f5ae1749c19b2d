/**
 * Replaces `mime-types` in the bundled package. HyperExpress takes helpers from it that the
 * transport does not use, and its table costs a twentieth of the start.
 */
exports.lookup = exports.contentType = () => false;
