'use strict'
// Preloaded into the suite's origin, which would otherwise listen on every interface.
const { Server } = require('node:net')

const listen = Server.prototype.listen
Server.prototype.listen = function (port) {
  return listen.call(this, { port, host: '127.0.0.1' })
}
