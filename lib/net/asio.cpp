// The functions of Asio that are not templates. BOOST_ASIO_SEPARATE_COMPILATION omits them
// everywhere else.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
