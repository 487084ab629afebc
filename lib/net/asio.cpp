// The functions of Asio that are no templates. BOOST_ASIO_SEPARATE_COMPILATION leaves them out
// everywhere else.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
