//! What clients can ask for, one function to a method.
//!
//! A plain method is a function of the server and its parameters:
//! `async fn config_read(server: &Server, params: ConfigReadParams) -> Result<ConfigReadResponse, RpcError>`.
